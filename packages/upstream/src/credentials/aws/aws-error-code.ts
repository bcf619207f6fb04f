import type { IncomingHttpHeaders } from 'node:http';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { z } from 'zod';

const Body = z.object({ __type: z.string() });

/**
 * AWS' word for an error: `ThrottlingException:http://internal…` in a header, or `com.amazon.coral#ThrottlingException` in the
 * bodies of older paths. Null: another server answered.
 */
export function awsErrorCode(headers: IncomingHttpHeaders, body: string): string | null {
  const header = headers['x-amzn-errortype'];
  const text = typeof header === 'string' ? header : Body.safeParse(jsonIn(body)).data?.__type;
  if (text === undefined) return null;
  const [name = ''] = text.split(':');
  return name.slice(name.lastIndexOf('#') + 1).trim() || null;
}
