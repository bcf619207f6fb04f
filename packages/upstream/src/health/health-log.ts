import type { HealthEvents } from './channel-health.ts';
import type { Rest } from './rests/rest.ts';
import { scopeOf } from './targets/target.ts';

export interface HealthLogger {
  info(message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const fieldsOf = (rest: Rest) => ({
  channel: rest.channel,
  account: rest.account,
  model: rest.model,
  cause: rest.cause,
  reason: rest.reason,
});

const secondsOf = ({ sinceMs, untilMs }: Rest): number | null =>
  untilMs === Number.POSITIVE_INFINITY ? null : Math.round((untilMs - sinceMs) / 1000);

/** One line when a rest begins and one when it ends, in the replica that found it out. */
export const healthLog = (
  logger: HealthLogger,
): Required<Pick<HealthEvents, 'onRestBegan' | 'onRestEnded'>> => ({
  onRestBegan(rest) {
    const scope = scopeOf(rest);
    const fields = { ...fieldsOf(rest), scope, failures: rest.failures, seconds: secondsOf(rest) };
    if (rest.cause === 'credentials')
      logger.error(fields, 'a provider refuses the API key: correct it in the configuration');
    else logger.warn(fields, 'a channel rests');
  },
  onRestEnded(rest, how) {
    logger.info({ ...fieldsOf(rest), scope: scopeOf(rest), how }, 'a channel no longer rests');
  },
});
