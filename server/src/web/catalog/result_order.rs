//! The order of a list in the catalog: that of the search or the list, or another that was chosen.

use subcat_engine::{ListOrder, OwnDownloads};

use crate::web::frame::language::Lang;
use crate::web::frame::params::Params;

/// Name of the parameter.
pub(crate) const ORDER_PARAMETER: &str = "sort";

/// The order of the records of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultOrder {
    /// By relevance for a search, newest first for a list without words.
    Default,
    /// Newest first.
    Newest,
    /// Most downloads first.
    Downloads,
}

impl ResultOrder {
    /// The order of the parameter; the default for any other value.
    pub(crate) fn of(params: &Params) -> Self {
        match params.get(ORDER_PARAMETER) {
            "newest" => Self::Newest,
            "downloads" => Self::Downloads,
            _ => Self::Default,
        }
    }

    /// Value of the parameter.
    pub(crate) const fn value(self) -> &'static str {
        match self {
            Self::Default => "",
            Self::Newest => "newest",
            Self::Downloads => "downloads",
        }
    }

    /// The order of a list without relevance; `own` has the downloads from this service.
    pub(crate) fn of_list<'o>(self, own: &'o OwnDownloads<'o>) -> ListOrder<'o> {
        match self {
            Self::Default | Self::Newest => ListOrder::Newest,
            Self::Downloads => ListOrder::Downloads(own),
        }
    }
}

/// An order to choose.
pub(crate) struct OrderLink {
    pub(crate) label: &'static str,
    /// Query string of the same list in this order.
    pub(crate) query: String,
    pub(crate) is_chosen: bool,
}

/// The orders of a search (true), or of a list without words, with the links that choose them.
pub(crate) fn order_links(params: &Params, is_search: bool, lang: Lang) -> Vec<OrderLink> {
    let relevance = (ResultOrder::Default, lang.t("Relevance", "Relevancia"));
    let newest = lang.t("Newest", "Más recientes");
    let downloads = (
        ResultOrder::Downloads,
        lang.t("Most downloaded", "Más descargados"),
    );
    let orders = if is_search {
        vec![relevance, (ResultOrder::Newest, newest), downloads]
    } else {
        vec![(ResultOrder::Default, newest), downloads]
    };
    let chosen = ResultOrder::of(params);
    let is_offered = orders.iter().any(|(order, _)| *order == chosen);
    let link = |(order, label): (ResultOrder, &'static str)| {
        let mut others = params.without(&[ORDER_PARAMETER, "lang", "theme", "page"]);
        if order != ResultOrder::Default {
            let joint = if others.is_empty() { "" } else { "&" };
            others.push_str(joint);
            others.push_str(ORDER_PARAMETER);
            others.push('=');
            others.push_str(order.value());
        }
        OrderLink {
            label,
            query: others,
            is_chosen: order == chosen || (order == ResultOrder::Default && !is_offered),
        }
    };
    orders.into_iter().map(link).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_offers_its_orders_and_keeps_its_filters() {
        let check = |query: &str, is_search, expected: &[(&str, bool)]| {
            let links = order_links(&Params::parse(query), is_search, Lang::En);
            let shown: Vec<(&str, bool)> = links
                .iter()
                .map(|link| (link.query.as_str(), link.is_chosen))
                .collect();
            assert_eq!(shown, expected, "{query}");
        };
        check("", false, &[("", true), ("sort=downloads", false)]);
        check(
            "year=1999&sort=downloads&page=2",
            false,
            &[("year=1999", false), ("year=1999&sort=downloads", true)],
        );
        check(
            "sort=newest",
            false,
            &[("", true), ("sort=downloads", false)],
        );
        check(
            "query=a+b&sort=newest",
            true,
            &[
                ("query=a%20b", false),
                ("query=a%20b&sort=newest", true),
                ("query=a%20b&sort=downloads", false),
            ],
        );
        check(
            "query=a&sort=x",
            true,
            &[
                ("query=a", true),
                ("query=a&sort=newest", false),
                ("query=a&sort=downloads", false),
            ],
        );
    }
}
