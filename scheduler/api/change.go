package api

import "github.com/danielgtaylor/huma/v2"

func (a *API) changeRoutes(h huma.API) {}
