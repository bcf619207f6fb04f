import type { AssetStore } from '@gateway/assets/asset-store';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { Upstream } from '@gateway/upstream/upstream';

/** What the making of images needs. */
export interface ImageMaker {
  readonly upstream: Upstream;
  readonly assets: AssetStore;
  readonly uploads: UploadStore;
  /** Unix milliseconds. */
  readonly now: () => number;
}
