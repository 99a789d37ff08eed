package server

import (
	"fmt"
	"reflect"
)

// Variable documents one variable of the configuration.
type Variable struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Default     string `json:"default"`
	Strict      string `json:"strict,omitempty"` // default with the preset `strict`
	Secret      bool   `json:"secret"`           // can also be given as Name_FILE

	field  string // name of the field of Config
	public bool   // read from a file because it is long, not because it is secret: certificates and public keys
	pem    bool   // a key or certificates
}

// Variables lists all variables in the order of Config.
func Variables() []Variable {
	var list []Variable
	for f := range reflect.TypeFor[Config]().Fields() {
		if f.Tag.Get("env") == "-" {
			continue
		}
		list = append(list, Variable{
			Name: prefix + f.Tag.Get("env"), Description: f.Tag.Get("does"),
			Default: f.Tag.Get("envDefault"), Strict: f.Tag.Get("strict"), Secret: f.Tag.Get("secret") != "",
			field: f.Name, public: f.Tag.Get("secret") == "public", pem: f.Tag.Get("pem") != "",
		})
	}
	return list
}

// Setting is a variable with its current value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"` // secrets are hidden
}

// Settings lists the current values. Secrets are hidden.
func (c *Config) Settings() []Setting {
	value := reflect.ValueOf(*c)
	var list []Setting
	for _, variable := range Variables() {
		list = append(list, Setting{variable.Name, fmt.Sprint(value.FieldByName(variable.field).Interface())})
	}
	return list
}
