//! A browser, driven through chromedriver: the WebDriver protocol over one plain connection.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::raw::Client;

/// Paths of the two programs in Debian's packages `chromium` and `chromium-driver`.
const CHROMIUM: &str = "/usr/bin/chromium";
const CHROMEDRIVER: &str = "/usr/bin/chromedriver";
/// Starts of chromedriver, at most.
const STARTS_MAX: usize = 5;

/// Keys that have no character, as WebDriver writes them.
pub const TAB: char = '\u{E004}';
/// The enter key.
pub const ENTER: char = '\u{E007}';
/// The space bar.
pub const SPACE: char = ' ';

/// A running chromedriver; it ends with the value.
pub struct Driver {
    process: Child,
    address: SocketAddr,
}

/// Settings of a browser.
#[derive(Debug, Clone, Copy)]
pub struct Looks {
    /// `Accept-Language`.
    pub language: &'static str,
    /// Width of the viewport, in CSS pixels.
    pub width: u32,
    /// True if the system prefers dark colours.
    pub is_dark: bool,
}

/// One browser with a profile of its own.
pub struct Browser {
    client: Client,
    session: String,
    _profile: tempfile::TempDir,
}

impl Driver {
    /// Starts chromedriver on a free port. Panics, naming what to install, when it or the browser
    /// is missing: these tests are not skipped in silence.
    pub fn start() -> Self {
        for program in [CHROMIUM, CHROMEDRIVER] {
            assert!(
                Path::new(program).exists(),
                "{program} is missing: install the packages chromium and chromium-driver \
                 (scripts/setup test does)"
            );
        }
        let mut starts = (0..STARTS_MAX).filter_map(|_| Self::started());
        starts.next().expect("chromedriver says its port")
    }

    /// Starts chromedriver; `None` if it ends before it listens: the port that it found free may be
    /// another program's by then.
    fn started() -> Option<Self> {
        let mut process = Command::new(CHROMEDRIVER)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let output = process.stdout.take().expect("its output is piped");
        let port = BufReader::new(output)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, port) = line.split_once("started successfully on port ")?;
                port.trim_end_matches('.').parse::<u16>().ok()
            });
        let Some(port) = port else {
            process.wait().expect("chromedriver ends");
            return None;
        };
        Some(Self {
            process,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
        })
    }

    /// Opens a browser.
    pub fn open(&self, looks: Looks) -> Browser {
        let profile = tempfile::tempdir().expect("a temporary directory");
        let arguments = [
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-quic".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            "--hide-scrollbars".to_owned(),
            format!("--accept-lang={}", looks.language),
            format!("--user-data-dir={}", profile.path().display()),
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": CHROMIUM, "args": arguments},
        }}});
        let mut client = Client::connect(self.address);
        let answer = ask(&mut client, "POST", "/session", &wanted);
        let session = answer["sessionId"].as_str().expect("a session has an id");
        let mut browser = Browser {
            client,
            session: format!("/session/{session}"),
            _profile: profile,
        };
        let prefers = if looks.is_dark { "dark" } else { "light" };
        let media = json!([{"name": "prefers-color-scheme", "value": prefers}]);
        browser.cdp("Emulation.setEmulatedMedia", &json!({"features": media}));
        browser.resize(looks.width, 800);
        browser
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended by itself: both outcomes are fine.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The value of an answer; panics with the driver's own words when it is an error.
fn ask(client: &mut Client, method: &str, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    let length = body.len();
    let answer = client.ask(format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    ));
    let mut value: Value = serde_json::from_str(answer.text()).expect("the driver speaks JSON");
    assert_eq!(answer.status, 200, "{method} {path}: {value:#}");
    value["value"].take()
}

impl Browser {
    fn post(&mut self, path: &str, body: &Value) -> Value {
        let path = format!("{}/{path}", self.session);
        ask(&mut self.client, "POST", &path, body)
    }

    fn cdp(&mut self, command: &str, params: &Value) -> Value {
        self.post(
            "goog/cdp/execute",
            &json!({"cmd": command, "params": params}),
        )
    }

    /// Sets the size of the viewport.
    pub fn resize(&mut self, width: u32, height: u32) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.cdp("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Shows pages as they are printed, or on a screen again.
    pub fn print_look(&mut self, is_print: bool) {
        let media = if is_print { "print" } else { "screen" };
        self.cdp("Emulation.setEmulatedMedia", &json!({"media": media}));
    }

    /// Loads an address and waits for it.
    pub fn goto(&mut self, url: &str) {
        self.post("url", &json!({"url": url}));
    }

    /// Blocks addresses like this one from now on.
    pub fn block(&mut self, pattern: &str) {
        self.cdp("Network.enable", &json!({}));
        self.cdp("Network.setBlockedURLs", &json!({"urls": [pattern]}));
    }

    /// Returns true if content of the page is painted within two seconds.
    pub fn is_painted(&mut self) -> bool {
        let script = "return new Promise(done => {\n\
             new PerformanceObserver(() => done(true)).observe({type: 'paint', buffered: true});\n\
             setTimeout(() => done(false), 2000);\n\
             });";
        self.eval_async(script) == true
    }

    /// Gives the page that is shown a cookie.
    pub fn cookie(&mut self, name: &str, value: &str) {
        let cookie = json!({"name": name, "value": value, "path": "/", "httpOnly": true});
        self.post("cookie", &json!({"cookie": cookie}));
    }

    /// Runs a script and returns its result.
    pub fn eval(&mut self, script: &str) -> Value {
        self.post("execute/sync", &json!({"script": script, "args": []}))
    }

    /// Runs a script that returns a promise; returns the value of the promise.
    pub fn eval_async(&mut self, script: &str) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1];\n\
             Promise.resolve((() => {{ {script} }})()).then(done, e => done(String(e)));"
        );
        self.post("execute/async", &json!({"script": script, "args": []}))
    }

    /// The text of a script's result.
    pub fn text(&mut self, script: &str) -> String {
        match self.eval(script) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// Path of the page that is shown.
    pub fn path(&mut self) -> String {
        self.text("return location.pathname")
    }

    /// Types at whatever has the focus.
    pub fn keys(&mut self, text: &str) {
        let press = |key: char| {
            let key = key.to_string();
            [
                json!({"type": "keyDown", "value": key}),
                json!({"type": "keyUp", "value": key}),
            ]
        };
        let actions: Vec<Value> = text.chars().flat_map(press).collect();
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": actions});
        self.post("actions", &json!({"actions": [keyboard]}));
    }

    /// Presses a key that leads to another page, and waits until that is there.
    pub fn press_and_follow(&mut self, key: char) {
        self.eval("window.isOld = true");
        self.keys(&key.to_string());
        for _ in 0..500 {
            let script = "return !window.isOld && document.readyState === 'complete'";
            if self.eval(script) == true {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("no new page came: {}", self.path());
    }

    /// Goes on with the tab key until the element that `selector` names has the focus, whose
    /// outline must be seen. Panics when it is not reached.
    pub fn tab_to(&mut self, selector: &str) {
        let selector = Value::from(selector);
        let has_focus = format!(
            "const element = document.activeElement;\n\
             if (!element.matches({selector})) return false;\n\
             const style = getComputedStyle(element);\n\
             return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 \
             ? true : 'no outline';"
        );
        for _ in 0..80 {
            match self.eval(&has_focus) {
                Value::Bool(true) => return,
                Value::Bool(false) => self.keys(&TAB.to_string()),
                other => panic!("{selector}: {other}"),
            }
        }
        panic!(
            "{selector} cannot be reached with the tab key on {}",
            self.path()
        );
    }

    /// Messages of the browser's console since the last call: errors, blocked content, failed
    /// loads.
    pub fn complaints(&mut self) -> Vec<String> {
        let entries = self.post("se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().cloned().unwrap_or_default();
        let text = |entry: &Value| entry["message"].to_string();
        entries.iter().map(text).collect()
    }

    /// Writes a picture of what the window shows.
    pub fn capture(&mut self, file: &Path) {
        let answer = self.cdp("Page.captureScreenshot", &json!({"format": "png"}));
        let data = answer["data"].as_str().expect("a picture has data");
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).expect("a folder for pictures");
        }
        std::fs::write(file, from_base64(data)).expect("the picture is written");
    }

    /// Writes a picture of the whole page.
    pub fn screenshot(&mut self, file: &Path) {
        let height = self.eval("return document.documentElement.scrollHeight");
        let width = self.eval("return innerWidth").as_u64().unwrap_or(1280);
        let width = u32::try_from(width).expect("a viewport is small");
        let height = u32::try_from(height.as_u64().unwrap_or(800)).expect("a page is small");
        self.resize(width, height.clamp(800, 6000));
        self.capture(file);
        self.resize(width, 800);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let path = self.session.clone();
            ask(&mut self.client, "DELETE", &path, &json!({}));
        }
    }
}

/// Standard base64, as the driver sends pictures.
fn from_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut bits_count) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        bits = bits << 6 | value(byte);
        bits_count += 6;
        if 8 <= bits_count {
            bits_count -= 8;
            bytes.push((bits >> bits_count & 0xFF) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        assert_eq!(from_base64("aG9sYQ=="), b"hola");
        assert_eq!(from_base64("+/8="), [0xFB, 0xFF]);
    }
}
