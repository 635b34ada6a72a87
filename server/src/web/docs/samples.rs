//! Examples of requests, as a command and as programs that run when copied.

/// A request to try, as a command and as programs.
pub(crate) struct ApiSample {
    /// Prefix of the ids of its texts; unique on a page.
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) texts: [SampleText; 3],
    /// Path and query string of the request.
    pub(crate) path: String,
    /// True if the request needs an API key.
    pub(crate) needs_key: bool,
    /// Page of the catalog with the results of a search; empty for other requests.
    pub(crate) page: String,
}

/// A sample in one language of programs.
pub(crate) struct SampleText {
    /// Suffix of its id.
    pub(crate) language: &'static str,
    pub(crate) name: &'static str,
    pub(crate) code: String,
}

impl ApiSample {
    /// The sample of a `curl` command that ends with a quoted address below `base_url`.
    pub(crate) fn new(id: String, title: String, command: &str, base_url: &str) -> Self {
        // The header on a line of its own: no line is wider than its column.
        let command = command
            .replacen("curl ", "curl --fail-with-body ", 1)
            .replacen(" -H ", " \\\n-H ", 1);
        let url = command.rsplit('"').nth(1).unwrap_or("");
        let path = url.strip_prefix(base_url).unwrap_or("");
        let query = path.split_once("/search?").map(|(_, query)| query);
        let needs_key = command.contains("Authorization");
        let request = ProgramRequest {
            url,
            is_file: path
                .split('?')
                .next()
                .is_some_and(|path| path.ends_with("/download")),
            needs_key,
        };
        let text = |language, name, code| SampleText {
            language,
            name,
            code,
        };
        Self {
            id,
            title,
            path: path.to_owned(),
            needs_key,
            page: query.map_or(String::new(), |query| format!("/catalog?{query}")),
            texts: [
                text("curl", "curl", command.clone()),
                text("python", "Python", request.python()),
                text("javascript", "JavaScript", request.javascript()),
            ],
        }
    }
}

/// A request as programs make it.
struct ProgramRequest<'a> {
    url: &'a str,
    /// True if the answer is a file, which the program keeps under its own name.
    is_file: bool,
    needs_key: bool,
}

impl ProgramRequest<'_> {
    /// In Python, with its standard library.
    fn python(&self) -> String {
        let url = self.url;
        let (modules, headers) = if self.needs_key {
            (
                "os, urllib.request",
                "\n    headers={\"Authorization\": \"Bearer \" + os.environ[\"SUBCAT_KEY\"]},",
            )
        } else {
            ("urllib.request", "")
        };
        let (first, end) = if self.is_file {
            (
                "",
                "    with open(answer.headers.get_filename(), \"wb\") as file:\n        \
                 file.write(answer.read())",
            )
        } else {
            ("json, ", "    print(json.load(answer))")
        };
        format!(
            "import {first}{modules}\n\n\
             request = urllib.request.Request(\n    \"{url}\",{headers}\n)\n\
             with urllib.request.urlopen(request) as answer:\n{end}"
        )
    }

    /// In JavaScript, as a module of Node.js.
    fn javascript(&self) -> String {
        let url = self.url;
        let options = if self.needs_key {
            ", {\n  headers: { Authorization: `Bearer ${process.env.SUBCAT_KEY}` },\n}"
        } else {
            ""
        };
        let (start, end) = if self.is_file {
            (
                "import { writeFile } from 'node:fs/promises';\n\n",
                "const [, name] = answer.headers.get('content-disposition').match(/\"(.+?)\"/);\n\
                 await writeFile(name, Buffer.from(await answer.arrayBuffer()));",
            )
        } else {
            ("", "console.log(await answer.json());")
        };
        format!(
            "{start}const answer = await fetch('{url}'{options});\n\
             if (!answer.ok) throw new Error(await answer.text());\n{end}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_taken_apart() {
        let command = "curl -H \"Authorization: Bearer $SUBCAT_KEY\" \\\n\
                       \"http://h/api/subtitles/search?title=x&limit=5\"";
        let sample = ApiSample::new("s".into(), String::new(), command, "http://h");
        assert_eq!(sample.path, "/api/subtitles/search?title=x&limit=5");
        assert_eq!(sample.page, "/catalog?title=x&limit=5");
        assert!(sample.needs_key);
        let names = sample.texts.each_ref().map(|text| text.language);
        assert_eq!(names, ["curl", "python", "javascript"]);
        let lines: Vec<&str> = sample.texts[0].code.lines().collect();
        assert_eq!(lines[0], "curl --fail-with-body \\");
        assert_eq!(lines[1], "-H \"Authorization: Bearer $SUBCAT_KEY\" \\");
        assert_eq!(lines.len(), 3);
        assert!(sample.texts[1].code.starts_with("import json, os, urllib"));
    }

    #[test]
    fn a_request_without_a_key_reads_none() {
        let sample = ApiSample::new("s".into(), String::new(), "curl \"/api/health\"", "");
        assert!(!sample.needs_key);
        assert!(sample.page.is_empty());
        let reads_key = |text: &SampleText| text.code.contains("SUBCAT_KEY");
        assert!(!sample.texts.iter().any(reads_key));
    }
}
