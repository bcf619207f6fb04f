import { expect, test } from 'vitest';
import { ownEnvironment, serviceLinksIn } from './environment.ts';

test('white space around a value does not count, such as the line break at the end of a file', () => {
  expect(ownEnvironment({ A: 'secret\n', B: ' secret\r\n', C: '\n', D: 'a b', E: undefined })).toEqual({
    ...{ A: 'secret', B: 'secret', C: '', D: 'a b', E: undefined },
  });
});

test.for(['PORT', 'TEXT_PORT', 'ADMIN_PORT', 'EDGE_METRICS_PORT', 'SIMULATOR_PORT', 'REDIS_PORT'])(
  '%s of a Service of Kubernetes is no setting, and a port is one',
  (name) => {
    for (const link of ['tcp://10.43.0.7:8081', 'udp://10.43.0.7:53', 'tcp://[fd00::7]:8081']) {
      expect(ownEnvironment({ [name]: link })).toEqual({});
      expect(serviceLinksIn({ [name]: link, OTHER: 'x' })).toEqual([name]);
    }
    expect(ownEnvironment({ [name]: '8081' })).toEqual({ [name]: '8081' });
    expect(ownEnvironment({ [name]: 'tcp://nowhere' })).toEqual({ [name]: 'tcp://nowhere' });
  },
);
