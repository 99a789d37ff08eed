// The Element Plus components that the console uses, with their styles. The complete library is several times larger.
import 'element-plus/theme-chalk/base.css'
import 'element-plus/theme-chalk/el-button.css'
import 'element-plus/theme-chalk/el-dialog.css'
import 'element-plus/theme-chalk/el-input-number.css'
import 'element-plus/theme-chalk/el-input.css'
import 'element-plus/theme-chalk/el-option.css'
import 'element-plus/theme-chalk/el-overlay.css'
import 'element-plus/theme-chalk/el-popper.css'
import 'element-plus/theme-chalk/el-scrollbar.css'
import 'element-plus/theme-chalk/el-select-dropdown.css'
import 'element-plus/theme-chalk/el-select.css'
import 'element-plus/theme-chalk/el-switch.css'
import 'element-plus/theme-chalk/el-tag.css'
import { ElSelect as Select } from 'element-plus/es/components/select/index'
import type { Component } from 'vue'

export { ElButton } from 'element-plus/es/components/button/index'
export { ElDialog } from 'element-plus/es/components/dialog/index'
export { ElInput } from 'element-plus/es/components/input/index'
export { ElInputNumber } from 'element-plus/es/components/input-number/index'
export { ElSwitch } from 'element-plus/es/components/switch/index'

/**
 * The prop types of the library reject the props in typed templates. ChoiceField.vue declares the types of its props.
 */
export const ElSelect: Component = Select
