//! Lines of the panels of figures.

use std::borrow::Cow;

/// A figure with its name.
pub(crate) struct NamedFigure {
    pub(crate) name: Cow<'static, str>,
    pub(crate) value: String,
}

impl NamedFigure {
    /// A figure; name and value are in the language of the page.
    pub(crate) fn new(name: &'static str, value: String) -> Self {
        let name = name.into();
        Self { name, value }
    }
}
