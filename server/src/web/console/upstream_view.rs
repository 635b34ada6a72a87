//! State of upstream in words, and its figures.

use std::time::Duration;

use subcat_engine::EngineStats;

use super::figure::NamedFigure;
use crate::upstream::{AttemptError, FetchOutcome, HealthReport, UpstreamState};
use crate::web::frame::language::Lang;
use crate::web::frame::web_request::WebRequest;

/// Panel of upstream: state, explanation, figures.
pub(crate) struct UpstreamView {
    pub(crate) state_class: &'static str,
    pub(crate) state_name: &'static str,
    pub(crate) explanation: &'static str,
    pub(crate) figures: Vec<NamedFigure>,
}

impl UpstreamView {
    pub(crate) fn new(request: &WebRequest, stats: &EngineStats) -> Self {
        let lang = request.lang;
        let health = request.site.service.upstream.health();
        let (state_class, state_name, explanation) = described(health.state, lang);
        let mut figures = Vec::new();
        if health.state != UpstreamState::NotConfigured {
            figures.extend(health_figures(request, &health));
            figures.extend(fetch_figures(request, &health));
        }
        figures.push(NamedFigure::new(
            lang.t("Cached files", "Archivos en caché"),
            format!(
                "{} ({})",
                lang.number(stats.cached_files),
                lang.bytes(stats.blob_bytes)
            ),
        ));
        Self {
            state_class,
            state_name,
            explanation,
            figures,
        }
    }
}

/// Class in the style sheet, name and explanation of a state.
pub(crate) fn described(
    state: UpstreamState,
    lang: Lang,
) -> (&'static str, &'static str, &'static str) {
    match state {
        UpstreamState::NotConfigured => (
            "revoked",
            lang.t("not configured", "sin configurar"),
            lang.t(
                "upstream.url is not set: only cached files are available.",
                "upstream.url no está definida: solo hay archivos en caché.",
            ),
        ),
        UpstreamState::NoAnswerYet => (
            "revoked",
            lang.t("no answer yet", "sin respuesta aún"),
            lang.t(
                "It has not answered since startup.",
                "No ha respondido desde el arranque.",
            ),
        ),
        UpstreamState::Up => (
            "active",
            lang.t("up", "disponible"),
            lang.t("It answers normally.", "Responde con normalidad."),
        ),
        UpstreamState::Slow => (
            "expired",
            lang.t("slow", "lento"),
            lang.t(
                "It usually takes more than 2 s to send a file.",
                "Suele tardar más de 2 s en enviar un archivo.",
            ),
        ),
        UpstreamState::Rejecting => (
            "down",
            lang.t("rejecting", "rechaza"),
            lang.t(
                "It rejected the last ten requests: check upstream.url.",
                "Ha rechazado las diez últimas peticiones: revisa upstream.url.",
            ),
        ),
        UpstreamState::Down => (
            "down",
            lang.t("down", "caído"),
            lang.t(
                "It did not answer the last requests. Cached files are still served.",
                "No responde a las últimas peticiones. Los archivos en caché siguen disponibles.",
            ),
        ),
    }
}

/// The point in time `ago` before now, with `ago` in brackets.
fn moment_ago(request: &WebRequest, ago: Duration) -> String {
    let seconds = i64::try_from(ago.as_secs()).unwrap_or(0);
    let moment = request.lang.moment(request.now.plus_seconds(-seconds));
    format!("{moment} ({})", request.lang.span(ago))
}

fn health_figures(request: &WebRequest, health: &HealthReport) -> Vec<NamedFigure> {
    let lang = request.lang;
    let never = || lang.t("never", "nunca").to_owned();
    let since = health.in_state_for.map(|ago| moment_ago(request, ago));
    let success = health.last_success.map(|ago| moment_ago(request, ago));
    let error = health.last_error.map(|(ago, error)| {
        let moment = moment_ago(request, ago);
        format!("{}; {moment}", attempt_error_text(error, lang))
    });
    let time = health.usual_time;
    let time = time.map(|time| format!("{} ms", lang.number(time.as_millis() as u64)));
    let mut figures = Vec::new();
    if let Some(since) = since {
        let name = lang.t("In this state since", "En este estado desde");
        figures.push(NamedFigure::new(name, since));
    }
    figures.extend([
        NamedFigure::new(
            lang.t("Last success", "Último éxito"),
            success.unwrap_or_else(never),
        ),
        NamedFigure::new(
            lang.t("Last error", "Último error"),
            error.unwrap_or_else(never),
        ),
        NamedFigure::new(
            lang.t("Median time per file", "Tiempo mediano por archivo"),
            time.unwrap_or_else(|| "–".to_owned()),
        ),
    ]);
    figures
}

fn attempt_error_text(error: AttemptError, lang: Lang) -> String {
    let text = match error {
        AttemptError::Status(status) => return format!("HTTP {status}"),
        AttemptError::NoConnection => lang.t("no connection", "sin conexión"),
        AttemptError::Timeout => lang.t("timeout", "tiempo de espera agotado"),
        AttemptError::Interrupted => lang.t("connection closed early", "conexión interrumpida"),
        AttemptError::Redirected => lang.t("redirect not followed", "redirección no seguida"),
    };
    text.to_owned()
}

/// Figures of fetches since the process started.
fn fetch_figures(request: &WebRequest, health: &HealthReport) -> Vec<NamedFigure> {
    let lang = request.lang;
    let counts = request.site.service.upstream.counts();
    let failed = counts.outcome(FetchOutcome::Unavailable)
        + counts.outcome(FetchOutcome::Unusable)
        + counts.outcome(FetchOutcome::NotStored);
    let count = |en, es, value| NamedFigure::new(lang.t(en, es), lang.number(value));
    let ttl_seconds = request.site.service.config().upstream.failure_ttl_seconds;
    vec![
        count(
            "Fetched since startup",
            "Obtenidos desde el arranque",
            counts.outcome(FetchOutcome::Stored),
        ),
        count("Failed since startup", "Fallidos desde el arranque", failed),
        NamedFigure::new(
            lang.t(
                "Failed recently, not retried yet",
                "Fallidos hace poco, sin reintentar aún",
            ),
            format!(
                "{} ({ttl_seconds} s)",
                lang.number(health.remembered_failures as u64)
            ),
        ),
        count("In progress", "En curso", counts.in_flight()),
    ]
}
