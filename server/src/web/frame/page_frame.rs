//! The parts of a page around its content: header, navigation, footer.

use askama::Template;

use super::assets;
use super::language::Lang;
use super::params::Params;
use super::viewer::Viewer;

/// Colour scheme of the pages, remembered in a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    /// The scheme of the browser or system.
    Auto,
    Light,
    Dark,
}

impl Theme {
    /// `auto`, `light` or `dark`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Parses `auto`, `light` or `dark`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Auto, Self::Light, Self::Dark]
            .into_iter()
            .find(|theme| theme.as_str() == text)
    }
}

/// Data of the base template: language, colour scheme, navigation.
pub(crate) struct Frame {
    pub(crate) lang: Lang,
    pub(crate) theme: Theme,
    /// Path of the navigation entry that the page belongs to; empty for none.
    pub(crate) section: &'static str,
    /// Name or email address of the signed-in account; empty if there is none.
    pub(crate) viewer_name: String,
    pub(crate) is_admin: bool,
    /// True if anyone may create an account.
    pub(crate) is_registration_open: bool,
    /// Path of the page, for the links that switch language and colour scheme.
    pub(crate) path: String,
    /// Query of the page without `lang` and `theme`.
    pub(crate) rest: String,
    /// One-time message; empty if there is none.
    pub(crate) notice: &'static str,
    /// True if the header has a search box: the client may read the catalog, and the page has none.
    pub(crate) is_searchable: bool,
    /// Canonical address for search engines; empty for none.
    pub(crate) canonical: String,
    /// True if the page offers another language and colour scheme. False on the page that shows a
    /// new key, which cannot be loaded a second time.
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
            notice: "",
            is_searchable: false,
            canonical: String::new(),
            is_switchable: true,
        }
    }

    /// Sets path and query, for the links that switch language and colour scheme.
    pub(crate) fn at(mut self, path: &str, query: &Params) -> Self {
        path.clone_into(&mut self.path);
        self.rest = query.without(&["lang", "theme"]);
        self
    }

    /// Address of this page with another choice.
    pub(crate) fn switched(&self, name: &str, value: &str) -> String {
        let joint = if self.rest.is_empty() { "" } else { "&" };
        format!("{}?{}{joint}{name}={value}", self.path, self.rest)
    }

    pub(crate) fn is_signed_in(&self) -> bool {
        !self.viewer_name.is_empty()
    }

    /// Value of `aria-current` for a navigation entry: `page` if this page belongs to it.
    pub(crate) fn current(&self, section: &str) -> &'static str {
        if self.section == section {
            "page"
        } else {
            "false"
        }
    }

    pub(crate) fn opening(&self) -> Opening<'_> {
        Opening { page: self }
    }

    pub(crate) fn header(&self) -> Header<'_> {
        Header { page: self }
    }

    pub(crate) fn footer(&self) -> Footer<'_> {
        Footer { page: self }
    }

    /// True if the page is in Spanish; false for English. For sentences with values in them.
    pub(crate) fn is_spanish(&self) -> bool {
        self.lang == Lang::Es
    }

    /// The text in the language of the page.
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

// What is the same on every page has templates of its own: in the base template it would be
// compiled for each page that extends it.

/// The start of the document, with what the head has on every page.
#[derive(Template)]
#[template(path = "frame/opening.html")]
pub(crate) struct Opening<'a> {
    page: &'a Frame,
}

/// The end of the head, navigation, and the one-time message.
#[derive(Template)]
#[template(path = "frame/header.html")]
pub(crate) struct Header<'a> {
    page: &'a Frame,
}

/// The end of the document.
#[derive(Template)]
#[template(path = "frame/footer.html")]
pub(crate) struct Footer<'a> {
    page: &'a Frame,
}
