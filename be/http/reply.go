package behttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"dorisgo/load"
)

// Status texts of a reply.
const (
	statusSuccess        = "Success"
	statusPublishTimeout = "Publish Timeout"
	statusLabelExists    = "Label Already Exists"
	statusFail           = "Fail"
)

// publishTimeoutText is the Message of a load that is committed and not yet
// visible.
const publishTimeoutText = "[PUBLISH_TIMEOUT]TStatus: transaction commit successfully, BUT data will be visible later"

// outcome is everything that a reply says.
type outcome struct {
	txnID    int64 // 0 if none was begun
	label    string
	comment  string
	group    bool
	twoPhase bool
	status   string
	existing string
	message  string
	counts   load.Counts
	received int64

	total, begin, plan, read, write, commit time.Duration

	errorURL, firstError string
}

// fail fills in an error. Nothing is loaded then.
func (o *outcome) fail(err error) {
	o.status, o.message, o.counts.Loaded = statusFail, message(err), 0
	if l, ok := errors.AsType[*LabelExistsError](err); ok {
		o.status = statusLabelExists
		switch l.State {
		case "PREPARE":
			o.existing = "RUNNING"
		case "PRECOMMITTED":
			o.existing = "PRECOMMITTED"
		default:
			o.existing = "FINISHED"
		}
	}
}

// json is the reply's body: Doris' keys in Doris' order, four blanks, a newline.
func (o *outcome) json() []byte {
	w := object{buf: append(make([]byte, 0, 640), '{')}
	if o.txnID > 0 {
		w.number("TxnId", o.txnID)
	} else {
		w.number("TxnId", -1)
	}
	w.text("Label", o.label)
	w.text("Comment", o.comment)
	if o.group {
		w.raw("GroupCommit", "true")
	} else {
		w.text("TwoPhaseCommit", strconv.FormatBool(o.twoPhase))
	}
	w.text("Status", o.status)
	if o.existing != "" {
		w.text("ExistingJobStatus", o.existing)
	}
	w.text("Message", o.message)
	w.number("NumberTotalRows", o.counts.Total)
	w.number("NumberLoadedRows", o.counts.Loaded)
	w.number("NumberFilteredRows", o.counts.Filtered)
	w.number("NumberUnselectedRows", o.counts.Unselected)
	w.number("LoadBytes", o.received)
	w.number("LoadTimeMs", o.total.Milliseconds())
	if !o.group {
		w.number("BeginTxnTimeMs", o.begin.Milliseconds())
	}
	w.number("StreamLoadPutTimeMs", o.plan.Milliseconds())
	w.number("ReadDataTimeMs", o.read.Milliseconds())
	w.number("WriteDataTimeMs", o.write.Milliseconds())
	w.number("ReceiveDataTimeMs", o.read.Milliseconds())
	if !o.group {
		w.number("CommitAndPublishTimeMs", o.commit.Milliseconds())
	}
	if o.errorURL != "" {
		w.text("ErrorURL", o.errorURL)
	}
	if o.firstError != "" {
		w.text("FirstErrorMsg", o.firstError)
	}
	return w.end()
}

// object writes a flat JSON object whose keys keep their order.
type object struct {
	buf  []byte
	some bool
}

func (o *object) key(k string) {
	if o.some {
		o.buf = append(o.buf, ',')
	}
	o.some = true
	o.buf = append(o.buf, "\n    \""...)
	o.buf = append(o.buf, k...)
	o.buf = append(o.buf, `": `...)
}

func (o *object) raw(k, v string) {
	o.key(k)
	o.buf = append(o.buf, v...)
}

func (o *object) number(k string, v int64) {
	o.key(k)
	o.buf = strconv.AppendInt(o.buf, v, 10)
}

func (o *object) text(k, v string) {
	o.key(k)
	o.buf = appendJSONText(o.buf, v)
}

func (o *object) end() []byte { return append(o.buf, "\n}\n"...) }

// appendJSONText appends s as a JSON string that leaves <, > and & alone. Bytes
// that are not UTF-8 become replacement signs: this is text for people.
func appendJSONText(dst []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return append(dst, `""`...) // no string fails to encode
	}
	return append(dst, bytes.TrimRight(b.Bytes(), "\n")...)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// A client that is gone needs no answer.
	_, _ = w.Write(body)
}
