import { GatewayError } from '@gateway/contracts/gateway-error';

/** The codes of file systems and S3 stores of several makers for a full store. */
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

/** The codes of a file system that takes no writes: read-only, without rights, broken, or without a file handle to spare. */
const NO_WRITES = new Set(['EROFS', 'EACCES', 'EPERM', 'EIO', 'EMFILE', 'ENFILE', 'ESTALE']);

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const RETRY_AFTER_SECONDS = 5;

/** A store that is full, or takes no writes, as an error that a caller may see; anything else as it is. */
export function toStorageError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = text(Reflect.get(error, 'code'));
  if (NO_WRITES.has(code)) {
    return new GatewayError('service_unavailable', {
      message: `The gateway cannot store files at the moment. Please try again in ${RETRY_AFTER_SECONDS}s.`,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      cause: error,
    });
  }
  if (!NO_SPACE.has(code) && !NO_SPACE.has(error.name)) return error;
  return new GatewayError('storage_full', {
    message: 'The gateway has no space left to store files. Try again later, and inform its operator.',
    cause: error,
  });
}

/** A store in the network that does not answer, or answers that it cannot at the moment. */
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
