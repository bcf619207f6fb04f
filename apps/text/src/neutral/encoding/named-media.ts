import type { Path } from '../../wire/path.ts';
import { refuseParameter } from '../losses.ts';

/** Bytes in base64, as upstreams take them. */
export interface FetchedMedia {
  readonly mediaType: string;
  readonly data: string;
}

/** What has to be fetched before the request can be written. */
export interface WantedMedia {
  readonly what: 'image' | 'document';
  readonly url: string;
  /** Where the caller wrote it. */
  readonly at: Path;
}

/** Stand in a request that is written again once they were fetched. */
const PLACEHOLDERS = {
  image: { mediaType: 'image/png', data: '' },
  document: { mediaType: 'application/pdf', data: '' },
} as const;

/** What a request names by URL, for an upstream that takes bytes only. */
export class NamedMedia {
  /** What was not fetched yet. */
  readonly wanted: WantedMedia[] = [];
  readonly #fetched: ReadonlyMap<string, FetchedMedia> | null;

  /** @param fetched by URL; null: nothing is fetched for this request */
  constructor(fetched: ReadonlyMap<string, FetchedMedia> | null) {
    this.#fetched = fetched;
  }

  /** @throws {GatewayError} `unsupported_parameter` where nothing is fetched */
  of(what: WantedMedia['what'], url: string, at: Path): FetchedMedia {
    if (this.#fetched === null)
      refuseParameter(
        at,
        `The model that would answer takes no ${what} by URL. Send its bytes as a data URL.`,
      );
    const known = this.#fetched.get(url);
    if (known !== undefined) return known;
    this.wanted.push({ what, url, at });
    return PLACEHOLDERS[what];
  }
}
