//! Messages of the pages: each has a label for programs, and a text in both languages.

/// Makes an enum of messages from rows of `Variant label => English, Spanish;`.
macro_rules! messages {
    ($(#[$doc:meta])* enum $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident $label:expr => $en:literal, $es:literal;)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// The rows, in the order of the variants.
            const ROWS: &'static [(Self, &'static str, [&'static str; 2])] =
                &[$((Self::$variant, $label, [$en, $es])),+];

            const fn label(self) -> &'static str {
                Self::ROWS[self as usize].1
            }

            /// The message in the language of the page.
            pub(crate) const fn text(self, lang: Lang) -> &'static str {
                let [en, es] = Self::ROWS[self as usize].2;
                lang.t(en, es)
            }
        }
    };
}

pub(super) use messages;
