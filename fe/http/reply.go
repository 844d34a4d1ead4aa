package fehttp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"dorisgo/doriserr"
)

// Codes of the common reply. They are none of HTTP's: the HTTP status is nearly
// always 200.
const (
	codeOK           = 0
	codeError        = 1
	codeUnauthorized = 401
	codeBadRequest   = 403
	codeNotFound     = 404
	codeInternal     = 500
	codeUnavailable  = 503
)

// messages are the msg of each code.
var messages = map[int]string{
	codeOK: "success", codeError: "Error", codeUnauthorized: "Unauthorized", codeBadRequest: "Bad Request",
	codeNotFound: "Not Found", codeInternal: "Internal Error", codeUnavailable: "Server is not ready",
}

// common is the reply of Doris' frontend APIs.
type common struct {
	Msg   string `json:"msg"`
	Code  int    `json:"code"`
	Data  any    `json:"data"`
	Count int    `json:"count"`
}

// status is the reply of a load that was refused before it got a backend.
type status struct {
	Status string `json:"status"`
	Msg    string `json:"msg"`
}

func ok(w http.ResponseWriter, data any) { answer(w, http.StatusOK, codeOK, data) }

func answer(w http.ResponseWriter, httpStatus, code int, data any) {
	writeJSON(w, httpStatus, common{Msg: messages[code], Code: code, Data: data})
}

// fail answers with an error; its kind chooses the code.
func fail(w http.ResponseWriter, err error) {
	switch doriserr.KindOf(err) {
	case doriserr.AccessDenied, doriserr.NoPrivilege:
		answer(w, http.StatusOK, codeUnauthorized, err.Error())
	case doriserr.UnknownDatabase, doriserr.UnknownTable:
		answer(w, http.StatusOK, codeNotFound, err.Error())
	case doriserr.BadProperty, doriserr.Parse:
		answer(w, http.StatusOK, codeBadRequest, err.Error())
	default:
		answer(w, http.StatusOK, codeError, err.Error())
	}
}

// failed refuses a load.
func failed(w http.ResponseWriter, text string) {
	writeJSON(w, http.StatusOK, status{"FAILED", text})
}

func writeJSON(w http.ResponseWriter, httpStatus int, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		httpStatus = http.StatusInternalServerError
		b.Reset()
		b.WriteString(`{"msg":"Internal Error","code":500,"data":null,"count":0}`)
	}
	body := bytes.TrimRight(b.Bytes(), "\n")
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(httpStatus)
	// A client that is gone needs no answer.
	_, _ = w.Write(body)
}
