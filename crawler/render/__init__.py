"""Pages that are made by JavaScript: rendered in the system's chromium, through scrapy-playwright.

``handler``  decides whether a page is rendered, and what becomes of it when that fails
``browser``  one browser, and what it is allowed to do
``traffic``  what a page loads: fetched by us, never by the browser itself
``chromium`` is there a browser?
``shell``    is a page empty without JavaScript?
"""
