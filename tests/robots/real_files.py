"""Robots files in the styles that sites really use, written by hand; with paths and whether we may fetch them."""

FILES: dict[str, tuple[str, dict[str, bool]]] = {
    "wordpress": (
        "User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\n"
        "Sitemap: https://example.com/wp-sitemap.xml\n",
        {"/": True, "/wp-admin/": False, "/wp-admin/admin-ajax.php": True, "/wp-admin/admin-ajax.php?a=1": True},
    ),
    "drupal": (
        "#\n# robots.txt\n#\n# This file is to prevent the crawling of certain parts of your site.\n\nUser-agent: *\n"
        "# CSS, JS, Images\nAllow: /core/*.css$\nAllow: /core/*.css?\nAllow: /core/*.js$\n# Directories\n"
        "Disallow: /core/\n"
        "Disallow: /profiles/\n# Files\nDisallow: /README.txt\n# Paths (clean URLs)\nDisallow: /admin/\n"
        "Disallow: /user/login\n# Paths (no clean URLs)\nDisallow: /index.php/admin/\n",
        {
            "/core/x/style.css": True,
            "/core/x/style.css?v": True,
            "/core/x.php": False,
            "/README.txt": False,
            "/user/login": False,
            "/user": True,
            "/index.php/admin/x": False,
        },
    ),
    "shop": (
        "User-agent: *\nDisallow: /cart\nDisallow: /checkout\nDisallow: /account\nDisallow: /*?*sort_by=\n"
        "Disallow: /*?*filter=*&*\n"
        "Disallow: /collections/*+*\nDisallow: /*/print$\nCrawl-delay: 1\n\nUser-agent: AhrefsBot\nCrawl-delay: 10\n"
        "Disallow: /\n\nSitemap: https://example.com/sitemap.xml\n"
        "Sitemap: https://example.com/sitemap_products.xml.gz\n",
        {
            "/": True,
            "/cart": False,
            "/carton": False,
            "/collections/a?page=2": True,
            "/collections/a?page=2&sort_by=x": False,
            "/collections/a+b": False,
            "/p/print": False,
            "/p/printer": True,
        },
    ),
    "encyclopaedia": (
        "# Please note: there are a lot of pages on this site, and there are some misbehaved spiders.\n\n"
        + "".join(
            f"User-agent: {name}\nDisallow: /\n\n"
            for name in ["MJ12bot", "UbiCrawler", "wget", "grub-client", "k2spider"]
        )
        + "User-agent: IsraBot\nDisallow:\n\nUser-agent: *\nAllow: /w/api.php?action=mobileview&\nAllow: /w/load.php?\n"
        "Disallow: /w/\nDisallow: /trap/\nDisallow: /wiki/Special:\nDisallow: /wiki/Talk:Deletion\n",
        {
            "/wiki/Spider": True,
            "/w/index.php?title=Spider": False,
            "/w/load.php?x=1": True,
            "/wiki/Special:Random": False,
            "/wiki/Talk:Deletion_log": False,
            "/trap/": False,
        },
    ),
    "closed": ("User-agent: *\nDisallow: /\n", {"/": False, "/a": False, "/robots.txt": True}),
    "open": ("User-agent: *\nDisallow:\n", {"/": True, "/a": True}),
    "empty": ("", {"/": True}),
    "only a sitemap": ("Sitemap: https://example.com/sitemap.xml\n", {"/": True}),
    "invitation only": (
        "User-agent: Googlebot\nUser-agent: Bingbot\nUser-agent: Orbweaver\nAllow: /\nDisallow: /search\n\n"
        "User-agent: *\nDisallow: /\n",
        {"/": True, "/search?q=x": False},
    ),
    "no machines that learn": (
        "User-agent: GPTBot\nDisallow: /\n\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: *\nDisallow: /api/\n"
        "Allow: /\n",
        {"/": True, "/api/v1": False},
    ),
    "dos": ("User-agent: *\r\nDisallow: /a\r\n\r\nDisallow: /b\r\n", {"/a": False, "/b": False, "/c": True}),
    "mac": ("User-agent: *\rDisallow: /a\r\rDisallow: /b\r", {"/a": False, "/b": False, "/c": True}),
    "many comments": (
        "# a\n#b\n   # c\nUser-agent: * # everybody\n# d\nDisallow: /a # e\nDisallow: #/b\n",
        {"/a": False, "/b": True},
    ),
    "unknown directives": (
        "Host: example.com\nClean-param: ref /articles/\nUser-agent: *\nNoindex: /n\nRequest-rate: 1/5\n"
        "Visit-time: 0600-0845\n"
        "Disallow: /a\nContent-Signal: ai-train=no\n",
        {"/a": False, "/n": True},
    ),
    "news": (
        "User-agent: *\nDisallow: /search\nAllow: /search/howitworks\nAllow: /search/static\nDisallow: /?\n"
        "Allow: /?hl=\n"
        "Disallow: /?hl=*&\nAllow: /?hl=*&gws_rd=ssl$\nDisallow: /m/\nAllow: /m/finance\n",
        {
            "/": True,
            "/search?q=a": False,
            "/search/static/a": True,
            "/?a=b": False,
            "/?hl=en": True,
            "/?hl=en&x=1": False,
            "/?hl=en&gws_rd=ssl": True,
            "/m/": False,
            "/m/finance": True,
        },
    ),
}
