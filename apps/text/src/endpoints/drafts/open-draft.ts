import type { Environment } from '@gateway/contracts/environment';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Upstream } from '@gateway/upstream/upstream';
import type { Redis } from 'ioredis';

/**
 * Opens the providers of a draft that the admin service has laid in Redis.
 *
 * @throws {GatewayError} `object_not_found` where it is gone, `invalid_value` for mistakes, such as a variable that is not set here
 */
export type OpenDraft = (id: string) => Promise<Upstream>;

interface OpenDraftOptions {
  readonly redis: Redis;
  readonly env: Environment;
  /** What mistakes name. */
  readonly path: string;
  readonly gatewaySecret: string;
}

/** What it needs is loaded with the first draft. */
export const createOpenDraft =
  ({ redis, env, path, gatewaySecret }: OpenDraftOptions): OpenDraft =>
  async (id) => {
    const [
      { createDraftShelf },
      { createSealedValues },
      { openDraftUpstream },
      { ConfigurationError, tellMistakes },
    ] = await Promise.all([
      import('@gateway/upstream/configuration/stored/draft-shelf'),
      import('@gateway/upstream/configuration/stored/sealed-values'),
      import('@gateway/upstream/open-draft-upstream'),
      import('@gateway/upstream/configuration/mistakes/configuration-error'),
    ]);
    const values = createSealedValues(gatewaySecret);
    const draft = await createDraftShelf(redis, values).read(id);
    if (draft === null)
      throw new GatewayError(
        'object_not_found',
        'The draft is no longer there: it can be tried for 60 seconds. Try it again.',
      );
    try {
      return await openDraftUpstream({ draft, values, path, env });
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      throw new GatewayError(
        'invalid_value',
        `The text service cannot use the draft: ${tellMistakes(error.mistakes)}`,
      );
    }
  };
