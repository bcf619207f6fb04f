import { StartError } from '../start-error.ts';

/** Host and port, without user and password. */
export function redisAddress(url: string): string {
  if (!URL.canParse(url) || !/^rediss?:$/.test(new URL(url).protocol))
    throw new StartError('REDIS_URL is not a redis:// or rediss:// URL.');
  const { hostname, port } = new URL(url);
  return `${hostname}:${port || 6379}`;
}
