package main

import (
	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/scheduler"
	"github.com/pelmill/pelmill/scheduler/api"
)

// apiFlags say where the HTTP API of a scheduler listens, and to whom.
type apiFlags struct {
	serve     api.ServeOptions
	tokenFile string
}

func (f *apiFlags) flags(fs *pflag.FlagSet) {
	fs.StringVar(&f.serve.Listen, "listen", "", "`ADDRESS` of the status page and the HTTP API, such as 127.0.0.1:8080; without --token-file or --client-ca of loopback only")
	fs.StringVar(&f.tokenFile, "token-file", "", "`FILE` of those who may use the API, a line each: read or operate, the SHA-256 of a token, a name")
	fs.StringVar(&f.serve.Cert, "tls-cert", "", "`FILE` of the API's certificate, PEM")
	fs.StringVar(&f.serve.Key, "tls-key", "", "`FILE` of its key, PEM")
	fs.StringVar(&f.serve.ClientCA, "client-ca", "", "`FILE` of the authorities whose client certificates may use the API, PEM: they read, those with the organizational unit \"operate\" change things too")
}

// open makes the API of client, which is nil without --listen. The caller calls stop.
func (f *apiFlags) open(client *scheduler.Client, opts *api.Options) (stop func(), err error) {
	if f.serve.Listen == "" {
		if f.tokenFile != "" || f.serve != (api.ServeOptions{}) {
			return nil, usagef("--token-file, --tls-cert, --tls-key and --client-ca belong to --listen")
		}
		return func() {}, nil
	}
	if err := f.serve.Check(f.tokenFile != ""); err != nil {
		return nil, &exit{exitUsage, err}
	}
	if f.tokenFile != "" {
		if opts.Tokens, err = api.ReadTokens(f.tokenFile, func(err error) { opts.Log.Warn("tokens are those of before", "error", err) }); err != nil {
			return nil, &exit{exitUsage, err}
		}
	}
	opts.Certificates = f.serve.ClientCA != ""
	a := api.New(client, opts)
	_, end, err := a.Serve(&f.serve)
	if err != nil {
		a.Close()
		return nil, err
	}
	return end, nil
}
