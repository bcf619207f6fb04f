/** The path below which a proxy has the console and the admin API, such as `/gw`; empty at the root. This file is below `/console/`. */
const { pathname } = new URL(import.meta.url);
export const BASE_PATH = pathname.slice(0, Math.max(0, pathname.lastIndexOf('/console/')));
