//! Cleans the body of a machine's page: removes everything that could act.
//!
//! A body keeps only the elements and attributes listed below, which are those of uwf's own pages. Links and forms can only use paths of
//! the machine, as a browser resolves them. So the body can't run a script, navigate by itself, or send a request to another machine.

use std::borrow::Cow;
use std::collections::HashSet;

use ammonia::{Builder, UrlRelative};
use url::Url;

use crate::app::AppState;
use crate::machines::name::MachineName;
use crate::place::PageLocation;
use crate::url::is_own_path;

/// Ids of the elements around a page's body; the scripts use them.
const OUTER_IDS: [&str; 5] = ["main", "notice", "live", "keys", "keys-button"];

/// Allowed elements. Missing on purpose, among others: elements that load something, elements with other languages (`style`, `math`), and
/// elements that change how the rest is read (`base`, `meta`, `template`).
const ELEMENTS: &str = "a abbr article aside b blockquote br button caption code datalist dd del details div dl dt em fieldset figcaption \
    figure footer form g h1 h2 h3 h4 h5 h6 header hr i input ins kbd label legend li line mark meter nav ol optgroup option output p \
    path polygon polyline pre progress q rect s samp section select small span strong sub summary sup svg table tbody td text \
    textarea tfoot th thead time title tr tspan u ul var";

/// Attributes allowed on any element. Missing on purpose, among others: event handlers, `style`, `target`, `ping`, and `name` on elements
/// that it would turn into properties of the document.
const ATTRIBUTES: &str = "action autocapitalize aria-controls aria-current aria-describedby aria-expanded aria-hidden aria-label aria-labelledby \
    aria-live autocomplete autofocus checked class colspan cols d data-column data-confirm data-copy data-done data-head data-keep data-key data-label data-line data-ms data-open \
    data-row data-selected data-severity data-since data-state data-status data-zone datetime direction disabled download dx dy fill for formaction formmethod height \
    hidden href id inputmode lang list max maxlength method min minlength multiple open pattern placeholder points \
    preserveaspectratio preserveAspectRatio readonly rel required role rowspan rows rx ry scope selected size spellcheck start step \
    tabindex text-anchor title transform type value viewbox viewBox width wrap x x1 x2 y y1 y2";

/// Elements whose `name` is a field of a form, or a group of which one is open.
const NAMED: [&str; 6] = ["button", "details", "input", "output", "select", "textarea"];

/// Schemes allowed in links to other sites.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// Attributes with ids of elements of the same page, separated by spaces.
const ID_ATTRIBUTES: [&str; 5] = ["id", "for", "aria-controls", "aria-describedby", "aria-labelledby"];

/// The body without everything that could act. `is_own_host` recognizes host names of this gateway.
pub(crate) fn cleaned(body: &str, is_own_host: impl Fn(&str) -> bool + Send + Sync + 'static) -> String {
    cleaned_with(body, is_own_host, |ids| Some(Cow::Borrowed(ids)).filter(|ids| !OUTER_IDS.contains(&&**ids)))
}

/// A part of a machine's page for a page of this gateway: cleaned, with links and forms that lead to the machine, and ids that no other
/// part has.
pub(crate) fn part_of_machine(app: &AppState, name: &MachineName, html: &str) -> String {
    let here = app.clone();
    let is_own_host = move |host: &str| here.guard().is_some_and(|guard| guard.is_own_host(host));
    PageLocation::default().of_machine(name).prefixed(cleaned_part(html, name.as_str(), is_own_host))
}

/// The same for a part of a page: its ids begin with `part`, so that no other part has them.
fn cleaned_part(body: &str, part: &str, is_own_host: impl Fn(&str) -> bool + Send + Sync + 'static) -> String {
    let prefix = format!("{part}-");
    cleaned_with(body, is_own_host, move |ids| {
        let ids: Vec<String> = ids.split_whitespace().map(|id| format!("{prefix}{id}")).collect();
        Some(Cow::Owned(ids.join(" ")))
    })
}

fn cleaned_with(
    body: &str,
    is_own_host: impl Fn(&str) -> bool + Send + Sync + 'static,
    ids: impl for<'v> Fn(&'v str) -> Option<Cow<'v, str>> + Send + Sync + 'static,
) -> String {
    let words = |list: &'static str| list.split_whitespace().collect::<HashSet<_>>();
    let mut builder = Builder::empty();
    builder
        .tags(words(ELEMENTS))
        .generic_attributes(words(ATTRIBUTES))
        .tag_attributes(NAMED.iter().map(|&field| (field, HashSet::from(["name"]))).collect())
        .url_schemes(HashSet::from(SCHEMES))
        .url_relative(UrlRelative::PassThrough)
        .link_rel(None)
        .strip_comments(true);
    builder.attribute_filter(move |element, attribute, value| match attribute {
        "href" if element == "a" && leads_elsewhere(value, &is_own_host) => Some(Cow::Borrowed(value)),
        "href" | "action" | "formaction" => link(value).map(Cow::Owned),
        name if ID_ATTRIBUTES.contains(&name) => ids(value),
        _ => Some(Cow::Borrowed(value)),
    });
    builder.clean(body).to_string()
}

/// A link within the same page, with another query, or to a path of the machine.
fn link(value: &str) -> Option<String> {
    if value.starts_with(['#', '?']) { Some(value.to_owned()) } else { own_path(value) }
}

/// A path of the machine as a browser resolves it, so that it contains no `..` in any spelling. `None` for an address of another server.
pub(crate) fn own_path(value: &str) -> Option<String> {
    let machine = Url::parse("http://machine/").ok()?;
    let target = machine.join(value).ok()?;
    let is_here = value.starts_with('/') && target.origin() == machine.origin() && target.username().is_empty();
    let path = target.as_str().strip_prefix("http://machine").filter(|path| is_own_path(path))?;
    is_here.then(|| path.to_owned())
}

/// Whether a link goes to the web or to mail, but not back to this gateway under one of its names.
fn leads_elsewhere(value: &str, is_own_host: impl Fn(&str) -> bool) -> bool {
    let Ok(target) = Url::parse(value) else { return false };
    SCHEMES.contains(&target.scheme()) && !target.host_str().is_some_and(is_own_host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str) -> String {
        cleaned(body, |host| host == "gateway.example")
    }

    #[test]
    fn pages_of_uwf_stay_as_they_are() {
        for body in [
            "<h1 id=\"top\" class=\"a b\">One</h1><p>Two &amp; <b>three</b> &lt;script&gt;</p>",
            "<a class=\"task\" href=\"/threads/X?a=1#b\" data-open=\"\">x</a><a href=\"#top\">y</a><a href=\"?patch=1#files\">z</a>",
            "<a href=\"https://x.example/a?b=c\">x</a><a href=\"mailto:a@x.example\">y</a>",
            "<form method=\"post\" action=\"/threads/X/run\"><input type=\"hidden\" name=\"a\" value=\"&quot;\"><textarea name=\"b\" rows=\"3\">&lt;/textarea&gt;</textarea>\
             <button formaction=\"/threads/X/step\" data-key=\"s\">Step</button></form>",
            "<svg viewBox=\"0 0 9 9\" role=\"img\"><title>a</title><g class=\"n\"><a href=\"#x\"><rect x=\"1\" rx=\"2\"></rect><text>b</text></a></g></svg>",
            "<table><thead><tr><th scope=\"col\">a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>",
            "<details name=\"act\" open=\"\"><summary>a</summary><dl><dt>b</dt><dd>c</dd></dl></details>",
        ] {
            assert_eq!(shown(body), body);
        }
    }

    #[test]
    fn nothing_that_could_act_stays() {
        for (body, left) in [
            ("<script src=\"/x\"></script>a", "a"),
            ("<img src=x onerror=alert(1)>a", "a"),
            ("<p onclick=\"x\" style=\"position:fixed\">a</p>", "<p>a</p>"),
            ("<meta http-equiv=refresh content=\"0;url=/m/victim/\">a", "a"),
            ("<base href=\"/m/victim/\">a", "a"),
            ("<link rel=prefetch href=\"/m/victim/\">a", "a"),
            ("<iframe src=\"/m/victim/\"></iframe>a", "a"),
            ("<svg><script>x</script><foreignObject><b>a</b></foreignObject></svg>", "<svg></svg>"),
            ("<svg><use href=\"/m/victim/x.svg#a\"></use></svg>a", "<svg></svg>a"),
            ("<math><mtext><p>a</p></mtext></math>b", "b"),
            ("<p id=\"main\" data-live=\"/x\" data-prefix=\"//evil.example\">a</p>", "<p>a</p>"),
            ("<form name=\"title\" target=\"x\">a</form>", "<form>a</form>"),
            ("</main><main id=main>a</main>", "a"),
            ("<a href=\"/x\" ping=\"/y\" data-outside>a</a>", "<a href=\"/x\">a</a>"),
        ] {
            assert_eq!(shown(body), left, "{body}");
        }
    }

    #[test]
    fn links_and_forms_stay_on_the_machine() {
        for (target, kept) in [
            ("/threads/X", Some("/threads/X")),
            ("/a/../../victim/", Some("/victim/")),
            ("/%2e%2e/%2E./victim/", Some("/victim/")),
            ("/\\evil.example/", None),
            ("/.//evil.example/", None),
            ("//evil.example/", None),
            ("/\t/evil.example/", None),
            ("\\\\evil.example", None),
            ("threads/X", None),
            ("../victim/", None),
            ("javascript:alert(1)", None),
            (" javascript:alert(1)", None),
            ("http:/threads/X", None),
            ("http://machine/threads/X", None),
        ] {
            let form = shown(&format!("<form action=\"{target}\"></form>"));
            assert_eq!(
                form,
                kept.map_or("<form></form>".to_owned(), |kept| format!("<form action=\"{kept}\"></form>"))
            );
        }
        for target in
            ["http://gateway.example/m/victim/", "https://GATEWAY.example:7717/", "data:text/html,x", "file:///x"]
        {
            assert_eq!(shown(&format!("<a href=\"{target}\">a</a>")), "<a>a</a>", "{target}");
        }
        assert_eq!(shown("<form action=\"https://evil.example/\"></form>"), "<form></form>");
    }
}
