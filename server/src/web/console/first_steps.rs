//! Steps that make a new service useful, for its administrator.

use subcat_engine::EngineStats;

use crate::web::frame::web_request::WebRequest;

/// A step, done or not.
pub(crate) struct FirstStep {
    pub(crate) is_done: bool,
    pub(crate) text: &'static str,
    /// Command or setting that does it.
    pub(crate) how: &'static str,
}

impl FirstStep {
    /// The steps, while one of the first two is left: without records or keys nothing is served.
    pub(crate) fn all(request: &WebRequest, stats: &EngineStats) -> Vec<Self> {
        let (config, lang) = (request.site.service.config(), request.lang);
        let step = |is_done, text, how| Self { is_done, text, how };
        let steps = vec![
            step(
                stats.records != 0,
                lang.t("Import records", "Importar fichas"),
                "subcat import FILE",
            ),
            step(
                stats.api_keys != 0,
                lang.t("Create an API key", "Crear una clave de API"),
                "/keys/new",
            ),
            step(
                config.upstream.url.is_some(),
                lang.t(
                    "Name the source of files",
                    "Indicar el origen de los archivos",
                ),
                "upstream.url",
            ),
            step(
                config.public_url.is_some(),
                lang.t(
                    "Name the address that users see",
                    "Indicar la dirección que ven los usuarios",
                ),
                "public_url",
            ),
        ];
        if steps.iter().take(2).all(|step| step.is_done) {
            return Vec::new();
        }
        steps
    }
}
