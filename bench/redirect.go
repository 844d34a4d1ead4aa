package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// backendOf returns the address that takes the loads of a path: addr itself, or
// the one that it redirects to. Loads then go there directly, as a client does
// that keeps its connection; the redirect is not measured.
func backendOf(ctx context.Context, addr, path, login string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	// Without a body nothing is loaded, whatever the answer.
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+addr+path, http.NoBody)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Basic "+login)
	req.Header.Set("Expect", "100-continue")
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("no answer from %s: %w", addr, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return "", err
	}
	switch resp.StatusCode {
	case http.StatusTemporaryRedirect:
		u, err := url.Parse(resp.Header.Get("Location"))
		if err != nil || u.Host == "" {
			return "", fmt.Errorf("%s redirects to %q", addr, resp.Header.Get("Location"))
		}
		return u.Host, nil
	case http.StatusOK:
		return addr, nil
	default:
		return "", fmt.Errorf("%s answers %s: %s", addr, resp.Status, body)
	}
}
