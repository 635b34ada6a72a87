//! Lines of the panels of figures.

use std::borrow::Cow;

/// A figure with its name.
pub(super) struct NamedFigure {
    pub(super) name: Cow<'static, str>,
    pub(super) value: String,
}

impl NamedFigure {
    /// A figure; name and value are in the language of the page.
    pub(super) fn new(name: &'static str, value: String) -> Self {
        let name = name.into();
        Self { name, value }
    }
}
