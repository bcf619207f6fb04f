import { GatewayError } from '@gateway/contracts/gateway-error';

/** What was asked of Redis, which may be away. @throws {GatewayError} `service_unavailable` */
export const away = <Result>(asked: Promise<Result>): Promise<Result> =>
  asked.catch((cause: unknown) => {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError('service_unavailable', {
      message: 'Files and batches cannot be reached at the moment. Please try again shortly.',
      retryAfterSeconds: 1,
      cause,
    });
  });
