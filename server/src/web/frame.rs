//! What every page shows around its content.

use super::assets;
use super::language::Lang;
use super::params::Params;
use super::viewer::Viewer;

/// The colours a browser was told to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    /// Those of the system.
    Auto,
    Light,
    Dark,
}

impl Theme {
    /// Its name: `auto`, `light` or `dark`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Reads `auto`, `light` or `dark`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Auto, Self::Light, Self::Dark]
            .into_iter()
            .find(|theme| theme.as_str() == text)
    }
}

/// Language, colours, navigation: what the base template needs.
pub(crate) struct Frame {
    pub(crate) lang: Lang,
    pub(crate) theme: Theme,
    /// The entry of the navigation that the page belongs to: its path.
    pub(crate) section: &'static str,
    /// Whose page it is; empty when nobody is signed in.
    pub(crate) viewer_name: String,
    pub(crate) is_admin: bool,
    /// Whether anyone may make an account.
    pub(crate) is_registration_open: bool,
    /// Path of the page, and its query without language and colours.
    pub(crate) path: String,
    pub(crate) rest: String,
    /// False where switching would lose something: the page that shows a key.
    pub(crate) is_switchable: bool,
}

impl Frame {
    pub(crate) fn new(lang: Lang, theme: Theme, viewer: Option<&Viewer>) -> Self {
        let name = viewer.map(|viewer| match viewer.account.display_name.as_str() {
            "" => viewer.account.email.as_str(),
            name => name,
        });
        Self {
            lang,
            theme,
            section: "",
            viewer_name: name.unwrap_or("").to_owned(),
            is_admin: viewer.is_some_and(Viewer::is_admin),
            is_registration_open: false,
            path: "/".to_owned(),
            rest: String::new(),
            is_switchable: true,
        }
    }

    /// Where the page stands, for the links that switch language and colours.
    pub(crate) fn at(mut self, path: &str, query: &Params) -> Self {
        path.clone_into(&mut self.path);
        self.rest = query.without(&["lang", "theme"]);
        self
    }

    /// This page with another choice.
    pub(crate) fn switched(&self, name: &str, value: &str) -> String {
        let joint = if self.rest.is_empty() { "" } else { "&" };
        format!("{}?{}{joint}{name}={value}", self.path, self.rest)
    }

    pub(crate) fn is_signed_in(&self) -> bool {
        !self.viewer_name.is_empty()
    }

    /// `page` for the entry of the navigation that this page belongs to, else `false`
    /// (`aria-current`).
    pub(crate) fn current(&self, section: &str) -> &'static str {
        if self.section == section {
            "page"
        } else {
            "false"
        }
    }

    /// The text in the page's language.
    pub(crate) const fn t(&self, en: &'static str, es: &'static str) -> &'static str {
        self.lang.t(en, es)
    }

    pub(crate) fn style_url(&self) -> &'static str {
        &assets::STYLE.url
    }

    pub(crate) fn script_url(&self) -> &'static str {
        &assets::SCRIPT.url
    }

    pub(crate) fn icon_url(&self) -> &'static str {
        &assets::ICON.url
    }
}
