//! Steps that make a new service useful, for its administrator.

use subcat_engine::EngineStats;

use crate::web::frame::command_text::command_text;
use crate::web::frame::web_request::WebRequest;

/// A record for an import: one line of JSON.
pub(crate) const SAMPLE_LINE: &str = concat!(
    r#"{"id":"3f2b8c1e-5a4d-4e6f-9b7a-0c1d2e3f4a5b","video_type":"movie","title":"Sintel","#,
    r#""year":2010,"catalog_id":"tt1727587","source_release_id":"42"}"#
);

/// A step, done or not.
pub(crate) struct FirstStep {
    pub(crate) is_done: bool,
    pub(crate) text: &'static str,
    /// Page that does it; empty if there is none.
    pub(crate) path: &'static str,
    /// Commands that do it, each by itself, or a line of the settings; empty if a page does.
    pub(crate) ways: Vec<String>,
    /// Content of the file that a command needs; empty if none needs one.
    pub(crate) sample: &'static str,
}

impl FirstStep {
    /// The steps, while one of the first two is left: without records or keys nothing is served.
    pub(crate) fn all(request: &WebRequest, stats: &EngineStats) -> Vec<Self> {
        let (config, lang) = (request.site.service.config(), request.lang);
        let by_setting = |is_done, text, line: &str| Self {
            is_done,
            text,
            path: "",
            ways: vec![line.to_owned()],
            sample: "",
        };
        let steps = vec![
            Self {
                is_done: stats.records != 0,
                text: lang.t(
                    "Import your own folder of subtitles, or records: a table, or lines of JSON",
                    "Importar tu carpeta de subtítulos, o fichas: una tabla o líneas de JSON",
                ),
                path: "",
                ways: ["import DIR", "import FILE.jsonl"]
                    .map(|command| command_text(request, command))
                    .into(),
                sample: SAMPLE_LINE,
            },
            Self {
                is_done: stats.api_keys != 0,
                text: lang.t("Create an API key", "Crear una clave de API"),
                path: "/keys/new",
                ways: Vec::new(),
                sample: "",
            },
            by_setting(
                config.upstream.url.is_some(),
                lang.t(
                    "Name the source of files in the settings",
                    "Indicar el origen de los archivos en la configuración",
                ),
                "upstream.url = \"https://files.example.org/{source_release_id}\"",
            ),
            by_setting(
                config.public_url.is_some(),
                lang.t(
                    "Name the address that users see in the settings",
                    "Indicar la dirección que ven los usuarios en la configuración",
                ),
                "public_url = \"https://subs.example.org\"",
            ),
        ];
        if steps.iter().take(2).all(|step| step.is_done) {
            return Vec::new();
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::read_line;

    #[test]
    fn the_sample_is_a_line_that_can_be_imported() {
        assert!(read_line(1, SAMPLE_LINE.as_bytes()).is_ok());
    }
}
