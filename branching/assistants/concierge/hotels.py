"""The hotels of Xi'an that the concierge knows, made up, with their prices and when they have rooms."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

Room = Literal["suite", "standard"]
ROOMS: tuple[Room, ...] = get_args(Room)

CURRENCY = "CNY"
CITIES = ("xi'an", "xian", "xi an", "xi’an", "西安", "西安市")
"""Names of the one city there is."""


@dataclass(frozen=True)
class Hotel:
    """A hotel, with its prices a night."""

    id: str
    name: str
    chinese: str
    district: str
    suite: int
    standard: int
    rhythm: int
    """Every so many nights the suites are gone."""

    def price(self, room: Room) -> int:
        return self.suite if room == "suite" else self.standard

    def is_free(self, room: Room, check_in: date, nights: int) -> bool:
        """Whether there is a room for all of the nights. Of standard rooms there always is one."""
        first = check_in.toordinal()  # a number: a stay may go on where the calendar ends
        stay = range(first, first + nights)
        return room == "standard" or all((night + len(self.id)) % self.rhythm for night in stay)

    def free_rooms(self, check_in: date, nights: int) -> list[Room]:
        return [room for room in ROOMS if self.is_free(room, check_in, nights)]


HOTELS: dict[str, Hotel] = {
    hotel.id: hotel
    for hotel in (
        Hotel("bell-tower", "Bell Tower Hotel", "钟楼饭店", "Bell Tower", 1280, 560, 9),
        Hotel("drum-tower", "Drum Tower Courtyard", "鼓楼庭院酒店", "Bell Tower", 880, 420, 8),
        Hotel("south-gate", "South Gate Grand", "南门大酒店", "South Gate", 1680, 780, 11),
        Hotel("city-wall", "City Wall Inn", "城墙客栈", "South Gate", 620, 280, 7),
        Hotel("big-goose", "Wild Goose Pagoda Hotel", "大雁塔酒店", "Qujiang", 1180, 520, 10),
        Hotel("tang-garden", "Tang Garden Resort", "唐苑度假酒店", "Qujiang", 2280, 980, 13),
        Hotel("muslim-quarter", "Muslim Quarter House", "回坊民宿", "Lianhu", 540, 260, 7),
        Hotel("lotus-lake", "Lotus Lake Hotel", "莲湖宾馆", "Lianhu", 760, 340, 9),
        Hotel("high-tech", "High-Tech Plaza", "高新广场酒店", "High-Tech Zone", 980, 460, 12),
        Hotel("north-station", "North Station Express", "北站快捷酒店", "Weiyang", 480, 220, 8),
        Hotel("bei-lin", "Forest of Steles Hotel", "碑林酒店", "Beilin", 820, 380, 10),
        Hotel("hot-spring", "Huaqing Hot Spring Hotel", "华清温泉酒店", "Lintong", 1480, 640, 11),
    )
}


def is_known(city: str) -> bool:
    """Whether it is the city that the hotels are in."""
    return city.strip().lower() in CITIES
