/** The ending of an asset's id says what its bytes are. */
const ENDINGS = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
  'image/heic': 'heic',
  'image/jxl': 'jxl',
  'image/bmp': 'bmp',
  'image/tiff': 'tiff',
  'image/svg+xml': 'svg',
  'application/json': 'json',
  'application/gzip': 'gz',
  'application/octet-stream': 'bin',
} as const satisfies Record<string, string>;

const ENDING_OF: ReadonlyMap<string, string> = new Map(Object.entries(ENDINGS));
const TYPE_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(ENDINGS).map(([contentType, ending]) => [ending, contentType]),
);

const ASSET_ID = /^[A-Za-z0-9_-]{1,120}(?:\.([a-z]{2,4}))?$/;

/** The id of something that a job or the like makes: the same however often it is made. `part` is a number, or a name. */
export const assetId = (maker: string, part: number | string, contentType: string): string =>
  `${maker}-${part}.${ENDING_OF.get(contentType) ?? ENDINGS['application/octet-stream']}`;

/** What an id's bytes are; undefined for what is no id. */
export function contentTypeOf(id: string): string | undefined {
  const match = ASSET_ID.exec(id);
  if (match === null) return undefined;
  const [, ending] = match;
  return ending === undefined ? 'application/octet-stream' : TYPE_OF.get(ending);
}

/** Lets only ids through. @throws {Error} for anything else, which is our own mistake */
export function checkedId(id: string): string {
  if (contentTypeOf(id) === undefined) throw new Error('not an asset id');
  return id;
}
