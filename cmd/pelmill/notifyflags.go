package main

import (
	"github.com/spf13/pflag"

	"github.com/pelmill/pelmill/scheduler/notify"
)

// notifyFlags are those of processes that send notifications.
type notifyFlags struct {
	secretFile string
	allow      []string
}

func (n *notifyFlags) flags(fs *pflag.FlagSet) {
	fs.StringVar(&n.secretFile, "notify-secret-file", "", "sign notifications with the secrets in `FILE`, whsec_ and base64, one a line")
	fs.StringSliceVar(&n.allow, "notify-allow", nil, "notify also at these `ADDRESSES`, such as 10.0.0.0/8, which are not public, and without TLS there")
}

// sender makes what sends notifications; nil without a file.
func (n *notifyFlags) sender() (*notify.Sender, error) {
	allow, err := notify.ParseAllow(n.allow)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	if n.secretFile == "" {
		return nil, nil
	}
	secrets, err := notify.ReadSecrets(n.secretFile)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	return notify.New(notify.Options{Secrets: secrets, Allow: allow}), nil
}
