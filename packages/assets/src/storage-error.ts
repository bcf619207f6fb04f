import { GatewayError } from '@gateway/contracts/gateway-error';

/** How file systems and S3 stores of several makers say that there is no room. */
const NO_SPACE = new Set([
  'ENOSPC',
  'EDQUOT',
  'QuotaExceeded',
  'QuotaExceededException',
  'InsufficientStorage',
  'InsufficientCapacity',
  'XMinioStorageFull',
  'XMinioAdminBucketQuotaExceeded',
]);

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A store without room, as something that a caller may be told; anything else as it is. */
export function toStorageError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const isFull = NO_SPACE.has(text(Reflect.get(error, 'code'))) || NO_SPACE.has(error.name);
  if (!isFull) return error;
  return new GatewayError('storage_full', {
    message: 'The gateway has no room to store files. Try again later, and tell the person who runs it.',
    cause: error,
  });
}

const RETRY_AFTER_SECONDS = 5;

/** A store beyond the network that gives no answer, or says that it cannot at the moment. */
export function toNetworkStorageError(error: unknown): unknown {
  const known = toStorageError(error);
  if (!(known instanceof Error) || known instanceof GatewayError) return known;
  const metadata: unknown = Reflect.get(known, '$metadata');
  const status: unknown =
    typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, 'httpStatusCode') : undefined;
  // Without a status no whole answer came.
  if (typeof status === 'number' && status < 500 && status !== 429) return known;
  return new GatewayError('service_unavailable', {
    message: `The gateway's file store cannot be reached. Please try again in ${RETRY_AFTER_SECONDS}s.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause: known,
  });
}
