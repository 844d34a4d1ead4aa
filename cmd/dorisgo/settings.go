package main

import (
	behttp "dorisgo/be/http"
	"dorisgo/conf"
	"dorisgo/doriserr"
)

// feSettings shows and changes an FE's keys for SHOW and ADMIN SET.
type feSettings struct{ c *conf.FE }

// List implements exec.Settings.
func (s feSettings) List() [][2]string {
	var out [][2]string
	for _, e := range s.c.Entries() {
		v := e.Value
		if e.Key == "cluster_token" || e.Key == "initial_root_password" {
			v = "***"
		}
		out = append(out, [2]string{e.Key, v})
	}
	return out
}

// Set implements exec.Settings.
func (s feSettings) Set(key, value string) error {
	if err := s.c.Set(key, value); err != nil {
		return doriserr.New(doriserr.Analysis, "%s", err)
	}
	return nil
}

// beSettings shows and changes a BE's keys over HTTP.
type beSettings struct {
	c       *conf.BE
	changed func()
}

// List implements behttp.Settings.
func (s beSettings) List() []behttp.Setting {
	var out []behttp.Setting
	for _, e := range s.c.Entries() {
		v := e.Value
		if e.Key == "cluster_token" {
			v = "***"
		}
		out = append(out, behttp.Setting{Name: e.Key, Type: e.Type, Value: v, Mutable: e.Mutable})
	}
	return out
}

// Update implements behttp.Settings.
func (s beSettings) Update(key, value string, persist bool) error {
	if persist {
		return doriserr.New(doriserr.Unsupported, "persist=true is not supported: write the key to be.conf as well")
	}
	if err := s.c.Set(key, value); err != nil {
		return err
	}
	s.changed()
	return nil
}
