/// <reference path="./s3rver.d.ts" />
import S3rver from '@20minutes/s3rver';
import { temporaryFolder } from './temporary-folder.ts';

export interface TestS3 {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** What a process needs in its environment, beside `ASSETS_URL`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Ends every connection and listens no more. */
  close(): Promise<void>;
}

interface StartOptions {
  /** A folder of the test's own, to be served by two servers or by one after another. */
  readonly keepIn?: string;
  /** Whether it refuses wrong signatures. It then refuses all requests about a bucket: it signs their path without its last `/`. */
  readonly isStrict?: boolean;
}

/** A real S3-compatible server of the test's own, with an empty bucket; gone with the test process. */
export async function startS3({ keepIn, isStrict = false }: StartOptions = {}): Promise<TestS3> {
  const folder = await temporaryFolder();
  const bucket = 'gateway';
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    directory: keepIn ?? folder.path,
    silent: true,
    allowMismatchedSignatures: !isStrict,
    vhostBuckets: false,
    configureBuckets: [{ name: bucket }],
  });
  const { port } = await server.run();
  const endpoint = `http://127.0.0.1:${port}`;
  // The only ones that it knows.
  const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
  const region = 'us-east-1';
  return {
    endpoint,
    bucket,
    region,
    credentials,
    environment: {
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
    close: async () => {
      server.httpServer.closeAllConnections();
      await server.close();
      await folder.close();
    },
  };
}
