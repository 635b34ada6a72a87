//! Nodes of a cluster, as the page of administrators shows them.

use crate::limits::BEAT_SECONDS;
use crate::service::{ACCEPTS_NOTHING, ClusterState};
use crate::web::frame::language::Lang;

/// Heartbeats that a node may miss before the page shows it as silent.
const MISSED_BEATS: u64 = 3;

/// The cluster that this service is a node of.
pub(crate) struct ClusterView {
    pub(crate) epoch: String,
    pub(crate) applied: String,
    pub(crate) lag: String,
    /// Reason why the log is not followed.
    pub(crate) problem: Option<String>,
    pub(crate) is_diverged: bool,
    pub(crate) nodes: Vec<NodeView>,
}

/// A node.
pub(crate) struct NodeView {
    pub(crate) name: String,
    pub(crate) is_own: bool,
    pub(crate) state_class: &'static str,
    pub(crate) state: &'static str,
    pub(crate) applied: String,
    pub(crate) heard: String,
    pub(crate) version: String,
}

impl ClusterView {
    pub(crate) fn new(state: &ClusterState, lang: Lang) -> Self {
        let replica = &state.replica;
        let nodes = replica.nodes.iter().map(|status| {
            let silent_seconds = state.now.saturating_sub(status.heard_at).as_secs();
            let (state_class, name) = if status.is_diverged {
                ("down", lang.t("other data", "datos distintos"))
            } else if status.beat.applied == ACCEPTS_NOTHING {
                ("expired", lang.t("stopped", "detenido"))
            } else if BEAT_SECONDS * MISSED_BEATS < silent_seconds {
                ("down", lang.t("silent", "sin noticias"))
            } else {
                ("active", lang.t("in service", "en servicio"))
            };
            NodeView {
                name: status.beat.name.clone(),
                is_own: status.node == replica.node,
                state_class,
                state: name,
                applied: if status.beat.applied == ACCEPTS_NOTHING {
                    "–".to_owned()
                } else {
                    lang.number(status.beat.applied)
                },
                heard: format!("{} s", lang.number(silent_seconds)),
                version: status.beat.version.clone(),
            }
        });
        Self {
            epoch: lang.number(replica.epoch),
            applied: lang.number(replica.applied),
            lag: state
                .lag
                .map_or_else(|| "–".to_owned(), |lag| lang.number(lag)),
            problem: state.problem.clone(),
            is_diverged: replica.nodes.iter().any(|node| node.is_diverged),
            nodes: nodes.collect(),
        }
    }
}
