"""Vocabulary of the composed sessions: what files, graphs, tables, repositories and pages are about."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["THEMES", "Theme", "theme_of"]


@dataclass(frozen=True, slots=True)
class Theme:
    """The words of one field."""

    name: str
    things: tuple[str, ...]
    kinds: tuple[str, ...]
    traits: tuple[str, ...]
    """Numeric properties."""
    places: tuple[str, ...]
    deeds: tuple[str, ...]
    """How things relate, as verbs."""


def _theme(name: str, things: str, kinds: str, traits: str, places: str, deeds: str) -> Theme:
    return Theme(name, *(tuple(words.split()) for words in (things, kinds, traits, places, deeds)))


_ALL = (
    _theme(
        "garden",
        "basil tomato lavender rosemary pepper squash bean thyme carrot radish sage mint",
        "herb vegetable flower",
        "height_cm water_ml spacing_cm yield_g",
        "greenhouse terrace northbed orchard",
        "shades feeds follows attracts",
    ),
    _theme(
        "services",
        "gateway billing catalog search notifier ledger scheduler exporter cache registry mailer auth",
        "service worker database queue",
        "replicas port latency_ms memory_mb",
        "eu-west us-east staging edge",
        "calls depends_on publishes_to reads_from",
    ),
    _theme(
        "planets",
        "mercury venus earth mars jupiter saturn uranus neptune ceres pluto titan europa",
        "planet moon dwarf",
        "radius_km moons gravity_mm day_h",
        "inner-system asteroid-belt outer-system kuiper-belt",
        "orbits neighbours resonates_with outweighs",
    ),
    _theme(
        "books",
        "emma dracula ulysses middlemarch walden candide germinal nostromo kim heidi persuasion faust",
        "novel essay play",
        "pages year copies loans",
        "fiction-shelf reading-room archive depot",
        "inspired precedes cites parodies",
    ),
    _theme(
        "recipes",
        "risotto gazpacho goulash ramen moussaka paella borscht dahl focaccia pierogi tagine chowder",
        "soup stew bread dish",
        "minutes servings salt_g kcal",
        "weekday festive bakery canteen",
        "pairs_with replaces precedes uses",
    ),
    _theme(
        "metro",
        "harbor central museum stadium airport market castle riverside university park cathedral depot",
        "station line interchange",
        "platforms lifts passengers depth_m",
        "zone-a zone-b zone-c ring",
        "connects_to precedes serves bypasses",
    ),
    _theme(
        "minerals",
        "quartz calcite pyrite topaz gypsum fluorite galena malachite corundum talc hematite beryl",
        "silicate carbonate oxide sulfide",
        "hardness density mass_g samples",
        "drawer-one drawer-two vitrine vault",
        "scratches contains accompanies resembles",
    ),
    _theme(
        "weather",
        "pressure humidity rainfall wind sunshine cloud snowfall visibility dewpoint ozone pollen uv",
        "sensor station forecast",
        "reading minimum maximum interval_s",
        "coast valley summit plateau",
        "calibrates correlates_with triggers feeds",
    ),
    _theme(
        "music",
        "fugue sonata nocturne prelude waltz mazurka rondo toccata etude serenade overture requiem",
        "score recording part",
        "bars tempo minutes voices",
        "cabinet rehearsal concert archive",
        "quotes follows varies accompanies",
    ),
    _theme(
        "warehouse",
        "pallet crate drum reel carton tote sack barrel bundle spool bin rack",
        "container stock order",
        "quantity weight_kg price_cents slots",
        "aisle-1 aisle-2 dock cold-room",
        "holds replaces ships_with blocks",
    ),
    _theme(
        "languages",
        "icelandic basque finnish swahili tamil welsh maori georgian quechua yoruba catalan khmer",
        "language dialect script",
        "speakers cases vowels letters",
        "europe asia africa oceania",
        "borrows_from descends_from borders influences",
    ),
    _theme(
        "network",
        "router switch firewall printer camera beacon bridge probe repeater modem sensor hub",
        "device link subnet",
        "ports mtu vlan uptime_h",
        "floor-1 floor-2 basement roof",
        "uplinks_to monitors filters powers",
    ),
    _theme(
        "birds",
        "robin heron kestrel wren swift osprey puffin lapwing curlew magpie siskin dipper",
        "songbird raptor wader",
        "wingspan_cm eggs sightings mass_g",
        "marsh woodland cliff meadow",
        "preys_on nests_near mimics flocks_with",
    ),
    _theme(
        "tickets",
        "login-loop slow-search broken-export missing-icon stale-cache double-charge lost-upload wrong-total "
        "flaky-sync dark-mode typo-banner crash-start",
        "bug feature chore",
        "priority votes hours comments",
        "backlog sprint review done",
        "blocks duplicates relates_to causes",
    ),
    _theme(
        "sensors",
        "boiler pump valve turbine compressor chiller fan furnace conveyor mixer boiler-two dryer",
        "machine loop alarm",
        "temperature setpoint rpm hours",
        "hall-north hall-south yard control-room",
        "drives cools feeds interlocks",
    ),
    _theme(
        "museum",
        "amphora tapestry astrolabe mosaic medal lantern sextant fresco chalice sundial globe mask",
        "artifact loan exhibit",
        "year height_mm value visitors",
        "east-wing west-wing cellar workshop",
        "depicts accompanies copies predates",
    ),
    _theme(
        "energy",
        "solar hydro biogas tidal geothermal nuclear coal peat wind gas storage import",
        "plant grid market",
        "output_mw load price_cents hours",
        "north south coast island",
        "balances replaces supplies limits",
    ),
    _theme(
        "chess",
        "sicilian caro-kann slav benoni grunfeld scotch pirc english dutch catalan bird reti",
        "opening defence gambit",
        "games wins draws moves",
        "blitz rapid classical study",
        "transposes_to refutes avoids prepares",
    ),
    _theme(
        "fonts",
        "garamond bodoni futura helvetica caslon didot frutiger optima rockwell univers sabon gill",
        "serif sans slab",
        "weight glyphs kerning size",
        "print screen signage caption",
        "pairs_with derives_from replaces contrasts",
    ),
    _theme(
        "rivers",
        "danube rhine loire ebro vistula po tagus oder elbe seine thames rhone",
        "river tributary canal",
        "length_km flow bridges locks",
        "alps plain delta estuary",
        "joins crosses feeds parallels",
    ),
    _theme(
        "experiments",
        "baseline ablation sweep warmup distill augment dropout cosine finetune quantize prune ensemble",
        "run config report",
        "epochs batch loss_milli accuracy",
        "vision speech text tabular",
        "extends beats reuses contradicts",
    ),
    _theme(
        "bikes",
        "saddle crank derailleur rim spoke chain brake pedal stem fork hub cassette",
        "part tool service",
        "stock torque_nm price_cents weight_g",
        "workshop counter storeroom van",
        "fits wears replaces requires",
    ),
    _theme(
        "trees",
        "oak birch alder maple rowan larch hazel yew poplar willow linden hornbeam",
        "deciduous conifer shrub",
        "age height_m girth_cm nests",
        "avenue park forest hedge",
        "shelters overtops succeeds hosts",
    ),
    _theme(
        "festival",
        "opening parade lecture screening workshop banquet tournament auction recital fireworks bazaar closing",
        "event talk show",
        "seats start_h minutes budget",
        "main-stage tent hall square",
        "precedes overlaps replaces sponsors",
    ),
)

THEMES = {theme.name: theme for theme in _ALL}
"""By name."""


def theme_of(name: str) -> Theme:
    """Return the theme that a world's name ends in (`filesystem/notes-garden`), or one for a world that has none."""
    return THEMES.get(name.rpartition("-")[2], _ALL[1])
