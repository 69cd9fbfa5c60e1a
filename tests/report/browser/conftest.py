"""One Chromium for all checks of pages."""

import pytest
from browser_pipe import Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()
