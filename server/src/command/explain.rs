//! `subcat explain`: the steps of a search.

use clap::Args;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::access::run_operation;
use super::context::Context;
use super::error::CommandError;
use super::subcommand::Subcommand;
use crate::ops::ExplainSearch;

/// Show how a search is read, planned and ranked, with sizes and timings per step
///
/// The arguments are the parameters of GET /api/subtitles/search.
#[derive(Debug, Args)]
pub(super) struct ExplainArguments {
    /// Free text
    #[arg(long)]
    query: Option<String>,
    /// A title or a part of it
    #[arg(long)]
    title: Option<String>,
    /// An external id, such as tt0113277
    #[arg(long)]
    catalog_id: Option<String>,
    /// A record's id
    #[arg(long)]
    public_id: Option<String>,
    /// 1900 to 2100
    #[arg(long)]
    year: Option<String>,
    /// movie or episode
    #[arg(long)]
    video_type: Option<String>,
    /// A language tag, such as es-MX
    #[arg(long)]
    language: Option<String>,
    /// 1 to 200
    #[arg(long)]
    limit: Option<String>,
    /// With --video-type episode
    #[arg(long)]
    season: Option<String>,
    /// With --video-type episode
    #[arg(long)]
    episode: Option<String>,
    /// A file name: its release comes first among equals
    #[arg(long)]
    release: Option<String>,
    /// A date or time before which nothing was posted
    #[arg(long)]
    since: Option<String>,
    /// include, exclude or only
    #[arg(long)]
    hearing_impaired: Option<String>,
    /// include, exclude or only
    #[arg(long)]
    forced: Option<String>,
    /// include, exclude or only
    #[arg(long)]
    machine_translated: Option<String>,
}

impl Subcommand for ExplainArguments {
    const NAME: &'static str = "explain";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let query_string = self.query_string();
        let explain = ExplainSearch { query_string };
        run_operation(context, explain, |text| format!("{}\n", text.trim_end()))
    }
}

impl ExplainArguments {
    /// The search as the query string of a request, so that both are parsed by the same code.
    fn query_string(&self) -> String {
        let parameters = [
            ("query", &self.query),
            ("title", &self.title),
            ("catalog_id", &self.catalog_id),
            ("public_id", &self.public_id),
            ("year", &self.year),
            ("video_type", &self.video_type),
            ("language", &self.language),
            ("limit", &self.limit),
            ("season", &self.season),
            ("episode", &self.episode),
            ("release", &self.release),
            ("since", &self.since),
            ("hearing_impaired", &self.hearing_impaired),
            ("forced", &self.forced),
            ("machine_translated", &self.machine_translated),
        ];
        let given = parameters.iter().filter_map(|(name, value)| {
            let value = utf8_percent_encode(value.as_deref()?, NON_ALPHANUMERIC);
            Some(format!("{name}={value}"))
        });
        given.collect::<Vec<String>>().join("&")
    }
}
