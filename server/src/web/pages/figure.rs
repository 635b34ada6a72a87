//! A figure with its name, as panels show it.

/// One line of a panel.
pub(super) struct NamedFigure {
    pub(super) name: &'static str,
    pub(super) value: String,
}

impl NamedFigure {
    /// A figure as it is written in the language of the page.
    pub(super) fn new(name: &'static str, value: String) -> Self {
        Self { name, value }
    }
}
