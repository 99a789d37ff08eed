package sim

import (
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"strings"

	"stampede/app/alipay/rsa2"
)

// fields is the content of a reply.
type fields map[string]any

// rejection is a rejection with the gateway's codes.
type rejection struct{ code, sub string }

func (r *rejection) fields() fields {
	return fields{"code": r.code, "msg": "Business Failed", "sub_code": r.sub, "sub_msg": "refused by the simulator"}
}

// successFields returns the common content of a successful reply.
func successFields(t *Trade) fields {
	return fields{"code": "10000", "msg": "Success", "out_trade_no": t.Order, "trade_no": t.No}
}

func responseName(method string) string { return strings.ReplaceAll(method, ".", "_") + "_response" }

// write sends a reply, signed if there is a signer.
func (s *Simulator) write(w http.ResponseWriter, name string, content fields, signer *rsa.PrivateKey) {
	text, err := json.Marshal(content)
	reply := map[string]any{name: json.RawMessage(text)}
	if err == nil && signer != nil {
		reply[rsa2.Sign], err = rsa2.SignText(signer, string(text))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html;charset=utf-8") // the type of the real gateway
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // HTML escaping would change the signed text
	_ = encoder.Encode(reply)
}
