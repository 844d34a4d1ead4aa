// Command golang is a Stream Load with net/http.
//
//	USER=… PASSWORD=… golang http://fe:8030 db table file.csv
//
// Three things make net/http follow the 307 well: GetBody, so that the file can be
// sent again; `Expect: 100-continue` with a time to wait for it, so that it goes to
// the backend alone; and CheckRedirect, because the login is dropped on the way to
// another host.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("usage: golang http://fe:8030 db table file.csv")
	}
	base, db, table, name := args[0], args[1], args[2], args[3]
	user, password := os.Getenv("USER"), os.Getenv("PASSWORD")
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	open := func() (io.ReadCloser, error) { return os.Open(name) }
	body, err := open()
	if err != nil {
		return err
	}
	to := fmt.Sprintf("%s/api/%s/%s/_stream_load", base, url.PathEscape(db), url.PathEscape(table))
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, to, body)
	if err != nil {
		return err
	}
	req.GetBody, req.ContentLength = open, info.Size()
	req.SetBasicAuth(user, password)
	req.Header.Set("Expect", "100-continue")
	req.Header.Set("column_separator", ",")
	req.Header.Set("format", "csv")
	client := http.Client{
		Transport: &http.Transport{ExpectContinueTimeout: 10 * time.Second},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("too many redirects")
			}
			req.SetBasicAuth(user, password)
			return nil
		},
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", text)
	var reply struct{ Status, Message string }
	if err := json.Unmarshal(text, &reply); err != nil {
		return err
	}
	if reply.Status != "Success" && reply.Status != "Publish Timeout" {
		return fmt.Errorf("HTTP %d: not loaded: %s", res.StatusCode, reply.Message)
	}
	return nil
}
