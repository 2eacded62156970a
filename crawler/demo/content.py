"""What do the pages of the sample site say? Tables only; `pages` turns them into HTML."""

from typing import NamedTuple


class Species(NamedTuple):
    name: str
    common: str
    regions: tuple[str, ...]
    habitat: str
    female_mm: int
    web: str
    text: str

    @property
    def genus(self) -> str:
        return self.name.split()[0]

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-")


class Note(NamedTuple):
    slug: str
    date: str
    observer: str
    place: str
    species: str  # its slug
    title: str
    text: str


REGIONS = {
    "europe": (
        "Europe",
        "Hedges, wet meadows and lamplit bridges: most of the classic work on orb webs was done here.",
    ),
    "asia": ("Asia", "From the golden webs of tropical gardens to the gorges where the Joro spider hangs in autumn."),
    "north-america": ("North America", "Porches and goldenrod fields, where August belongs to the big orb weavers."),
    "south-america": ("South America", "The forest understorey holds more spiny orb weavers than anyone has counted."),
    "africa": ("Africa", "Home of the widest webs known, and of dry-country species that bind their webs to thorns."),
    "australia": ("Australia", "Night builders over garden paths, and cross-decorated webs in the shrubs below."),
}

GENERA = {
    "Araneus": "A large genus of round-bodied spiders that sit in a retreat of leaves, one foot on a signal thread.",
    "Argiope": "Day-active spiders at the hub of webs that carry a bright zigzag of silk, the stabilimentum.",
    "Trichonephila": "Golden silk spiders whose webs last for weeks and are mended rather than rebuilt.",
    "Nephila": "Giants of the tropics; the female may outweigh her mate several hundred times.",
    "Gasteracantha": "Hard, broad, spined bodies in tropical colours, at the centre of webs with tufts of silk.",
    "Micrathena": "American forest spiders with spines that make them a poor mouthful for birds and wasps.",
    "Larinioides": "Builders on bridges, reeds and railings, nearly always above or beside water.",
    "Cyclosa": "Small spiders that hide in a line of debris hung across their own web.",
    "Zygiella": "Known at a glance by the empty sector at the top of the web, crossed by one signal thread.",
    "Mastophora": "They have given up the orb altogether and swing a single sticky drop at passing moths.",
    "Caerostris": "Bark spiders, lumpy by day and engineers by night, with the toughest silk yet measured.",
    "Neoscona": "Common night builders of woods and porches that take down their webs at dawn.",
    "Hortophora": "The Australian garden orb weavers, until lately filed under Eriophora.",
    "Meta": "Dwellers in caves, cellars and culverts, with few spirals and long patience.",
    "Tetragnatha": "Long jaws, long legs, and a way of lying along a grass stem until nobody sees them.",
    "Leucauge": "Silver-backed spiders of slanting webs in damp, half-shaded places.",
    "Uloborus": "Without venom; their dry, combed silk holds by countless tiny fibres instead of glue.",
    "Hyptiotes": "Three sectors of an orb, held tight by the spider itself, which is part of the web.",
}

SPECIES = (
    Species("Araneus diadematus", "European garden spider", ("europe", "north-america"),
            "hedges and gardens", 15,
            "a vertical orb of some thirty radii, renewed most mornings",
            "The white cross on its abdomen is made of guanine, a waste product put to use as paint. In orbit "
            "aboard Skylab in 1973 two females, Arabella and Anita, learnt within days to build webs without "
            "weight."),
    Species("Araneus quadratus", "four-spot orb weaver", ("europe", "asia"),
            "heath and tall wet grass", 17,
            "a low orb beside a silken tent open below",
            "A gravid female can be as round as a hazelnut and is among the heaviest spiders of northern Europe. "
            "Her colour runs from lime green to brick red and can change within a week to suit where she rests."),
    Species("Araneus marmoreus", "marbled orb weaver", ("europe", "asia", "north-america"),
            "stream banks and wet woods", 14,
            "an orb high among shrubs with a folded leaf above it",
            "Walkers call it the pumpkin spider, for it is orange and abroad in October. Some populations wear a "
            "single dark patch at the rear and were long taken for another species."),
    Species("Araneus cavaticus", "barn spider", ("north-america",),
            "barns, porches and rock overhangs", 20,
            "a large orb hung at dusk under the eaves",
            "A barn in Maine lent this species to the best known spider in children's books, Charlotte A. Cavatica. "
            "Two dark wedges below the abdomen tell it from its relatives."),
    Species("Argiope aurantia", "yellow garden spider", ("north-america",),
            "sunny fields and vegetable beds", 24,
            "an orb up to sixty centimetres across, with a vertical zigzag",
            "She bounces the web when disturbed until her outline blurs. The egg sac is a brown paper flask, and "
            "the young that hatch in autumn stay inside it until spring."),
    Species("Argiope bruennichi", "wasp spider", ("europe", "asia"),
            "unmown meadows and dykes", 17,
            "a knee-high orb set for grasshoppers",
            "Within a century it has spread from the Mediterranean to the Baltic, faster than the climate alone "
            "would have carried it. Males mate in the moment when the female moults, while her jaws are still soft."),
    Species("Argiope trifasciata", "banded garden spider", ("north-america", "south-america", "africa", "asia"),
            "dry grassland and field margins", 20,
            "an orb facing south, so that the belly takes the sun",
            "It prefers drier ground and matures later than the yellow garden spider where both occur. In the cool "
            "of September the web is turned to warm its owner."),
    Species("Argiope keyserlingi", "St Andrew's Cross spider", ("australia",),
            "subtropical shrubs and gardens", 16,
            "an orb with a cross of up to four silk bands",
            "Legs are held in pairs along the bands, so that spider and cross make one figure. Well-fed individuals "
            "decorate more, which speaks for a lure rather than for camouflage."),
    Species("Trichonephila clavipes", "golden silk orb weaver", ("north-america", "south-america"),
            "forest edges and swamps", 32,
            "a golden, slightly slanting orb with a barrier web behind it",
            "The yellow of the silk is tuned to the light: stronger in sun, paler in the shade. Small "
            "kleptoparasites of the genus Argyrodes live in the barrier threads and steal what is not worth her "
            "while."),
    Species("Trichonephila clavata", "Joro spider", ("asia", "north-america"),
            "gardens, roadsides and power lines", 25,
            "a three-layered golden web that may hang two storeys high",
            "Joro-gumo of Japanese tales turns into a woman who plays the lute. Since about 2014 the spider itself "
            "has been spreading through Georgia and the Carolinas, and it does not mind traffic."),
    Species("Nephila pilipes", "giant golden orb weaver", ("asia", "australia"),
            "tropical forest and temple gardens", 45,
            "a web of a metre and more, with a ladder of coarse mesh",
            "Fishermen of the Solomon Islands wound its webs into lures for garfish. A male of five millimetres "
            "lives unnoticed on the back of a female nine times his length."),
    Species("Gasteracantha cancriformis", "spiny-backed orb weaver", ("north-america", "south-america"),
            "citrus groves and woodland edges", 9,
            "an orb with white tufts along its frame threads",
            "Six red spines around a white shield give it the look of a tiny crab. The tufts on the frame may keep "
            "birds from flying through."),
    Species("Micrathena gracilis", "spined micrathena", ("north-america",),
            "oak woods, across footpaths", 9,
            "a tight, many-looped orb at the height of a face",
            "Most people meet it nose first in July. Ten stout spines and a humming sound, made by rubbing the lung "
            "covers, are its defence."),
    Species("Micrathena sagittata", "arrow-shaped micrathena", ("north-america", "south-america"),
            "shrub layer of open woods", 8,
            "a small slanting orb near the ground with a short stabilimentum",
            "From above it is a yellow arrowhead with two spread, red-based spines. It drops from the web at the "
            "lightest touch and climbs back within a minute."),
    Species("Larinioides sclopetarius", "bridge spider", ("europe", "asia", "north-america"),
            "bridges, lamps and quays", 14,
            "an orb under a lamp, one of hundreds side by side",
            "On a lit footbridge in Vienna up to a hundred webs were counted to the metre of railing. The spiders "
            "choose lit places from birth, even before they have caught anything there."),
    Species("Larinioides cornutus", "furrow orb weaver", ("europe", "asia", "north-america"),
            "reeds and waterside grasses", 13,
            "an orb at the tip of a bent reed whose flower head holds the retreat",
            "It sits out floods in a bell of silk woven so tightly that it sheds water. Adults are found in every "
            "month, under bark when there is ice."),
    Species("Cyclosa conica", "conical trashline weaver", ("europe", "asia", "north-america"),
            "shady conifer woods", 6,
            "a fine-meshed orb with a vertical line of remains",
            "The hump at its rear completes the picture of a twig with a bud. It overwinters half grown and is "
            "among the first orb weavers to build in spring."),
    Species("Cyclosa turbinata", "humped trashline weaver", ("north-america", "south-america"),
            "dry banks and cacti", 5,
            "a small orb with a column of debris and egg sacs",
            "Females string their egg sacs in the debris line and sit below, looking like one more. Wasps that hunt "
            "by sight pass by twice as often as without the line."),
    Species("Zygiella x-notata", "missing sector orb weaver", ("europe", "north-america"),
            "window frames and gates", 9,
            "an orb with an open sector near the top",
            "Those who own a window in Europe own one of these. In the laboratory it showed that older spiders "
            "build less regular webs, and what caffeine does to a spiral."),
    Species("Mastophora hutchinsoni", "American bolas spider", ("north-america",),
            "field edges and orchards", 13,
            "no web at all: one thread with a drop of glue at its end",
            "She smells of moth. Early in the night she imitates the scent of one species and after midnight that "
            "of another, and males of both come to the swinging drop."),
    Species("Caerostris darwini", "Darwin's bark spider", ("africa",),
            "rivers of Madagascar, from bank to bank", 20,
            "an orb of almost three square metres on a bridge line of up to twenty-five metres",
            "The bridge thread is shot across the river on the wind. Its dragline absorbs more energy before "
            "breaking than any other biological material so far tested."),
    Species("Neoscona crucifera", "spotted orb weaver", ("north-america",),
            "lit porches and moist woods", 18,
            "a wide night web eaten before sunrise",
            "By late August the females stop hiding by day and become the spider of every second email to a museum. "
            "Barn spider and spotted orb weaver share porches and are often confused."),
    Species("Hortophora transmarina", "garden orb weaver", ("australia",),
            "suburban gardens, across the path", 22,
            "a night web strung between shrub and clothes line",
            "At dusk she lays the first thread, by ten the trap is ready, and at dawn only one line is left in "
            "place. Moths lose their scales to the glue before they lose their freedom."),
    Species("Meta menardi", "European cave spider", ("europe", "africa"),
            "caves, mines and old cellars", 15,
            "a small orb with few radii and no frame to speak of",
            "Adults flee the light, yet the young seek it and leave the cave to settle elsewhere. The white egg sac "
            "hangs from the ceiling like a lamp."),
    Species("Tetragnatha extensa", "common stretch spider", ("europe", "asia", "north-america"),
            "rushes beside still water", 11,
            "a tilted orb with an open hub, low over the water",
            "On alarm it runs to a stem and lies along it, four legs forward and four back. It can walk on water, "
            "and faster than on land."),
    Species("Leucauge venusta", "orchard spider", ("north-america", "south-america"),
            "low shrubs of damp woods", 7,
            "a nearly horizontal orb, the spider hanging below",
            "Silver, green and copper, it was named for Venus. A wasp larva that rides on its back makes it build a "
            "quite different web on its last night, as a scaffold for the wasp's cocoon."),
    Species("Uloborus walckenaerius", "feather-legged spider", ("europe", "asia"),
            "heather and low pine", 6,
            "a horizontal orb of woolly, glueless silk with a white band",
            "Having no venom, it wraps a fly in a hundred metres of thread until it is crushed. Young ones build a "
            "first web without any capture spiral, only a sheet of fine radii."),
    Species("Hyptiotes paradoxus", "triangle spider", ("europe",),
            "yew, box and dead spruce twigs", 6,
            "a three-sector web kept under tension by its owner",
            "It reels in the slack, holds the web like a drawn bow and lets go when an insect strikes. The recoil "
            "reaches accelerations that no spider muscle could produce."),
)  # fmt: skip

TOPICS = {
    "seven-silks": (
        "The seven silks of an orb weaver",
        "An orb weaver owns up to seven kinds of silk gland, each with its spigot and its purpose. Major ampullate "
        "silk makes the dragline and the frame, flagelliform silk the core of the spiral, aggregate glands the glue "
        "on it. Aciniform silk wraps prey, and tubuliform silk, made by females alone, covers the eggs."),
    "dragline-strength": (
        "How strong is a dragline?",
        "By weight a dragline beats steel in tensile strength, yet strength is not its secret. Crystals of stacked "
        "alanine alternate with tangled glycine-rich chains, so that the thread stretches by a third before it "
        "breaks. The product of the two, toughness, is what stops a bee."),
    "glue-droplets": (
        "Glue droplets and the humidity of the night",
        "Each droplet holds a core of glycoprotein in a salty water that draws moisture from the air. Species of "
        "dry fields make glue that works when the air is dry, and species of river banks fail there. The best grip "
        "of a glue lies near the humidity at which its maker hunts."),
    "cribellate-silk": (
        "Combed silk without glue",
        "The cribellum is a plate of thousands of spigots, combed out by a row of bristles on the hind leg. The "
        "puffs of nanofibres soak up the wax of an insect's skin and become a composite with it. It takes an hour "
        "of combing where glue takes minutes."),
    "building-an-orb": (
        "Building an orb in forty minutes",
        "First comes the bridge line, carried by the wind, then the Y that fixes the hub. Radii follow, always into "
        "the widest open angle. A dry auxiliary spiral runs outwards as a scaffold, and the sticky spiral is laid "
        "inwards while the scaffold is eaten."),
    "stabilimenta": (
        "What are stabilimenta for?",
        "Warning to birds, lure for pollinators, sunshade, camouflage, or a way to empty the wrapping glands: each "
        "idea has its experiment. Ultraviolet photographs favour the lure in open fields. In thick scrub, where "
        "birds do not fly through, decorated webs are as rare as the theory says."),
    "web-vibrations": (
        "Listening with eight legs",
        "Slit organs in the leg joints respond to motions smaller than the width of a virus. The spider plucks the "
        "radii and listens to the echo, so that even a motionless beetle is found. Males announce themselves with a "
        "rhythm of their own on a mating thread."),
    "eating-the-web": (
        "Why webs are eaten",
        "Silk is protein, and a web at dawn is a breakfast already paid for. Labelled amino acids return in the "
        "next evening's thread within half an hour. Pollen caught on the spiral feeds spiderlings through days "
        "without prey."),
    "webs-in-orbit": (
        "Webs in orbit",
        "On Skylab the first webs were ragged and the third was nearly normal. On the space station, four decades "
        "later, lamps took the place of gravity: with the light on, spiders built asymmetric webs and sat facing "
        "away from it. Up is, it seems, where the light is."),
    "drugs-and-webs": (
        "Peter Witt and the drugged spiders",
        "In 1948 a zoologist wished his spiders would build at a more civil hour and asked a pharmacologist for "
        "help. They went on building at four in the morning, but crookedly. Caffeine disturbed the web more "
        "thoroughly than mescaline did."),
    "ballooning": (
        "Sailing on electric fields",
        "Spiderlings climb to a tip, raise the abdomen and let out threads. Wind lifts them, but so does the "
        "electric field of the atmosphere, which the hairs on their legs can sense. They have been caught four "
        "kilometres up and a thousand from land."),
    "venom": (
        "Venom, and why it need not worry you",
        "The venom of orb weavers is a mixture for insects, hundreds of peptides aimed at their ion channels. To "
        "people a bite is a mild sting at worst, and few species bite at all. Some of the peptides are studied as "
        "pesticides that spare bees."),
    "synthetic-silk": (
        "Silk without spiders",
        "Spiders eat each other, so farms fail, and genes were moved to bacteria, yeast, goats and silkworms. The "
        "protein is the easy half. Spinning it needs the falling acidity and the shear of the gland's duct, which "
        "chips of glass now imitate."),
    "measuring-mesh": (
        "Methods: measuring the mesh of a web",
        "Dust the web with cornstarch, photograph it against black velvet, and count spirals along four radii. Mesh "
        "is the distance between the outermost and the innermost turn divided by their number. Wash the starch off "
        "with a mist of water before leaving."),
    "tuning-fork": (
        "Methods: calling spiders with a tuning fork",
        "C. V. Boys found in 1880 that a fork sounding A brings a garden spider to the spot it touches. Modern "
        "piezo drivers do the same from one to a thousand hertz. Below ten it sits still, as if for wind."),
}  # fmt: skip

NOTES = (
    Note("lamp-count", "2023-05-14", "Ines Kaltenbach",
         "the footbridge at Auhafen", "larinioides-sclopetarius",
         "Forty-one webs under nine lamps",
         "Counted from the upstream side between ten and eleven. The third lamp is broken and had a single web; its "
         "neighbours had six each. Mayflies everywhere, also in my tea."),
    Note("first-orb-of-spring", "2023-04-02", "Tomas Reyl",
         "the spruce plantation above Mill Brook", "cyclosa-conica",
         "First orb of the year",
         "Snow still in the ditch, and a finished web at hip height with a trash line of three spruce scales. The "
         "owner did not move until I breathed on her."),
    Note("yew-hedge", "2023-06-21", "Ines Kaltenbach",
         "the yew hedge of the old rectory", "hyptiotes-paradoxus",
         "A drawn bow in the yew",
         "Twelve triangles in twenty metres of hedge. I let a fruit fly go in front of one: the web jumped four "
         "times before I had counted to two."),
    Note("cellar-lamps", "2023-02-11", "Aurel Doyle",
         "the ice cellar below the brewery", "meta-menardi",
         "White lanterns in the ice cellar",
         "Seven egg sacs, five mothers on guard. Temperature eight degrees, as in every February since the survey "
         "began. The door was left ajar, which the young will like."),
    Note("flooded-reeds", "2023-03-19", "Tomas Reyl",
         "the north shore of Lake Senn", "larinioides-cornutus",
         "Dry under water",
         "The reed bed stood half a metre deep for nine days. Opened one silk bell at the waterline: dry inside, "
         "and the tenant annoyed."),
    Note("wasp-spider-arrives", "2023-07-30", "Maren Oduya",
         "the dyke at kilometre 14", "argiope-bruennichi",
         "New on the dyke",
         "Nobody had one in the records north of the sluice. Today eighteen, all where the mowing was put off for "
         "the corncrakes. Grasshoppers in every second web."),
    Note("bouncing", "2023-08-12", "June Abernathy",
         "the bean rows at Pell Farm", "argiope-aurantia",
         "Timing the bounce",
         "Touched the web lightly with a grass stem twenty times. She bounced on seventeen, for eleven seconds on "
         "average, and for a full minute when a wren flew past."),
    Note("barn-lodgers", "2023-08-28", "June Abernathy",
         "the hay barn at Pell Farm", "araneus-cavaticus",
         "Lodgers in the hay barn",
         "Five large females along one beam, evenly spaced, an arm's length from each other. The oldest hands on "
         "the farm say there have always been five."),
    Note("porch-rivals", "2023-09-03", "June Abernathy",
         "a porch on Cutler Street", "neoscona-crucifera",
         "Two names for one porch",
         "The owners had it as a barn spider. Belly pattern says otherwise: a dark field with two pale spots in "
         "front. Web gone by six in the morning, only the bridge line left."),
    Note("moth-scent", "2023-09-16", "Maren Oduya",
         "the abandoned orchard at Swale", "mastophora-hutchinsoni",
         "Watching the bolas",
         "Four hours under a red lamp for three throws and one catch, a cutworm moth at 21:40. From half past "
         "eleven smaller, greyer moths came upwind, just as the books promise."),
    Note("river-line", "2023-10-05", "Aurel Doyle",
         "the Namorona river, below the second fall", "caerostris-darwini",
         "Twenty metres of bridge line",
         "Measured with the laser from bank to bank: nineteen metres seventy. Dragonflies hang in the web like "
         "washing. The guide says she began it on Tuesday."),
    Note("joro-on-the-wires", "2023-10-21", "June Abernathy",
         "the county road near Braselton", "trichonephila-clavata",
         "Every span of the power line",
         "Webs in all of the thirty spans we walked, up to three in one. Lorries pass below and the spiders hardly "
         "flinch. Counted four blue jays that looked and left them alone."),
    Note("pumpkin-walk", "2023-10-29", "Tomas Reyl",
         "the alder carr at Mill Brook", "araneus-marmoreus",
         "The pumpkin walk",
         "The children found nine, I found two. The best one had rolled three alder leaves into a house with a "
         "front and a back door."),
    Note("clothes-line", "2023-11-18", "Wirra Lindqvist",
         "a back yard in Marrickville", "hortophora-transmarina",
         "Do not hang washing after eight",
         "Bridge line up at 19:52, radii done by 20:20, last sticky turn at 20:47. The shirt that I had forgotten "
         "has become part of the frame."),
    Note("temple-garden", "2023-12-09", "Wirra Lindqvist",
         "the temple garden at Ubud", "nephila-pilipes",
         "Nine times his length",
         "One female across the gate, two males on the upper threads, a third on her back. The gardener ducks under "
         "the web without looking up, as he must have for months."),
    Note("window-seven", "2023-09-27", "Ines Kaltenbach",
         "window seven of the reading room", "zygiella-x-notata",
         "The missing sector of window seven",
         "Same frame, same corner, sixth autumn in a row. The sector opens towards the hinge, where the retreat is, "
         "and one thread runs through it like a bell pull."),
)  # fmt: skip

DRAFTS = {
    "beetle-mimicry": ("Draft: beetles that look like spiny orb weavers",
                       "Not checked, not cited, and probably wrong about the beetles."),
    "survey-addresses": ("Draft: addresses of the survey", "Where the observers live is nobody's business."),
    "editors-diary": ("Draft: the editors' diary", "We agreed to disagree about the hyphen in orb-weaver."),
}  # fmt: skip
