import json

import pytest

from ladder import manifest


@pytest.fixture
def manifest_of(tmp_path, monkeypatch):
    """Writes a manifest of a test's own, which the scripts then read. A stage needs no more than a
    name; its parent is the one before."""

    def write(*stages):
        entries = []
        for stage in stages:
            given = stage if isinstance(stage, dict) else {"name": stage}
            entry = {
                "parent": entries[-1]["name"] if entries else None,
                "types": ["fp32"],
                "needs": {"compute_capability": 50, "features": []},
                "aligned_rows": False,
                "devices": ["gpu", "cpu"],
                "page": f"docs/{given['name']}.md",
            }
            entries.append(entry | given)
        folder = tmp_path / "stages"
        folder.mkdir(exist_ok=True)
        path = folder / "manifest.json"
        path.write_text(json.dumps({"stages": entries}))
        manifest.read.cache_clear()
        monkeypatch.setattr(manifest, "MANIFEST", path)
        return path

    return write
