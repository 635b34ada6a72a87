//! How upstream is, in words.

use std::time::Duration;

use subcat_engine::EngineStats;

use super::figure::NamedFigure;
use crate::upstream::{AttemptError, FetchOutcome, HealthReport, UpstreamState};
use crate::web::language::Lang;
use crate::web::web_request::WebRequest;

/// A state, what it means, and figures.
pub(super) struct UpstreamView {
    pub(super) state_class: &'static str,
    pub(super) state_name: &'static str,
    pub(super) sentence: &'static str,
    pub(super) figures: Vec<NamedFigure>,
}

impl UpstreamView {
    pub(super) fn new(request: &WebRequest, stats: &EngineStats) -> Self {
        let lang = request.lang;
        let health = request.site.service.upstream.health();
        let (state_class, state_name, sentence) = words(health.state, lang);
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
            sentence,
            figures,
        }
    }
}

fn words(state: UpstreamState, lang: Lang) -> (&'static str, &'static str, &'static str) {
    match state {
        UpstreamState::NotConfigured => (
            "revoked",
            lang.t("none", "ninguna"),
            lang.t(
                "upstream.url is not set: only cached files are served.",
                "upstream.url no está definida: solo se sirven los archivos en caché.",
            ),
        ),
        UpstreamState::NoAnswerYet => (
            "revoked",
            lang.t("not asked yet", "sin consultar"),
            lang.t(
                "It has not answered since the start.",
                "No ha respondido desde el arranque.",
            ),
        ),
        UpstreamState::Up => (
            "active",
            lang.t("up", "funciona"),
            lang.t("It answers.", "Responde."),
        ),
        UpstreamState::Slow => (
            "expired",
            lang.t("slow", "lenta"),
            lang.t(
                "It usually takes more than 2 s to send a file.",
                "Suele tardar más de 2 s en enviar un archivo.",
            ),
        ),
        UpstreamState::Rejecting => (
            "down",
            lang.t("refuses", "rechaza"),
            lang.t(
                "It refused the last ten requests: is upstream.url right?",
                "Ha rechazado las diez últimas peticiones: ¿es correcta upstream.url?",
            ),
        ),
        UpstreamState::Down => (
            "down",
            lang.t("down", "caída"),
            lang.t(
                "The last three requests got no answer. Cached files are served all the same.",
                "Tres peticiones seguidas sin respuesta. Los archivos en caché se sirven igual.",
            ),
        ),
    }
}

/// A moment that lies so far back, and how far.
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
            lang.t("Last error", "Último problema"),
            error.unwrap_or_else(never),
        ),
        NamedFigure::new(
            lang.t("Usual time of a file", "Tiempo habitual por archivo"),
            time.unwrap_or_else(|| "–".to_owned()),
        ),
    ]);
    figures
}

fn attempt_error_text(error: AttemptError, lang: Lang) -> String {
    let text = match error {
        AttemptError::Status(status) => return format!("HTTP {status}"),
        AttemptError::NoConnection => lang.t("no connection", "sin conexión"),
        AttemptError::Timeout => lang.t("took too long", "tardó demasiado"),
        AttemptError::Interrupted => lang.t("broke off", "se cortó"),
        AttemptError::Redirected => lang.t("leads elsewhere", "redirige a otro sitio"),
    };
    text.to_owned()
}

/// Since the process started.
fn fetch_figures(request: &WebRequest, health: &HealthReport) -> Vec<NamedFigure> {
    let lang = request.lang;
    let counts = request.site.service.upstream.counts();
    let failed = counts.outcome(FetchOutcome::Unavailable)
        + counts.outcome(FetchOutcome::Unusable)
        + counts.outcome(FetchOutcome::NotStored);
    let count = |en, es, value| NamedFigure::new(lang.t(en, es), lang.number(value));
    let ttl_seconds = request.site.service.config.upstream.failure_ttl_seconds;
    vec![
        count(
            "Fetched since the start",
            "Obtenidos desde el arranque",
            counts.outcome(FetchOutcome::Stored),
        ),
        count(
            "Failed since the start",
            "Fallidos desde el arranque",
            failed,
        ),
        NamedFigure::new(
            lang.t(
                "Failed lately, not retried yet",
                "Fallidos hace poco, en pausa",
            ),
            format!(
                "{} ({ttl_seconds} s)",
                lang.number(health.remembered_failures as u64)
            ),
        ),
        count("Under way", "En curso", counts.in_flight()),
    ]
}
