import { anthropicAws, foundry } from '@gateway/simulator/clouds/anthropics-paths';
import { bedrock } from '@gateway/simulator/clouds/bedrock';
import { vertex } from '@gateway/simulator/clouds/vertex';
import { startSimulator } from '@gateway/simulator/start-simulator';

/** What the clients are told of each cloud, beside its address. */
export const ACCOUNTS = {
  aws: {
    region: 'eu-central-1',
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'a-secret-access-key-of-nobody',
    sessionToken: 'a+session/token=',
    apiKey: 'a-key-of-bedrock',
    workspaceId: 'wrkspc_1',
  },
  google: { project: 'p1', location: 'eu', token: 'a-token-of-google', apiKey: 'a-key-of-gemini' },
  microsoft: { apiKey: 'a-key-of-azure', token: 'a-token-of-entra', gpt: 'our-gpt', claude: 'our-opus' },
} as const;

const { aws, google, microsoft } = ACCOUNTS;
const keys = { ...aws, apiKeys: [aws.apiKey] };

/** A simulator for each cloud, which is closed with the stack. Resolves with their addresses. */
export async function startClouds(
  resources: AsyncDisposableStack,
): Promise<Readonly<Record<string, string>>> {
  const address = async (options: Parameters<typeof startSimulator>[0]): Promise<string> =>
    resources.use(await startSimulator(options)).url;
  return {
    bedrock: await address({ cloud: bedrock({ ...keys, service: 'bedrock', endpoint: 'runtime' }) }),
    mantle: await address({ cloud: bedrock({ ...keys, service: 'bedrock-mantle', endpoint: 'mantle' }) }),
    platform: await address({ cloud: anthropicAws({ ...keys, service: 'aws-external-anthropic' }) }),
    vertex: await address({ cloud: vertex({ ...google, acceptsToken: (token) => token === google.token }) }),
    gemini: await address({ apiKeys: [google.apiKey] }),
    foundry: await address({
      cloud: foundry({
        apiKeys: [microsoft.apiKey],
        acceptsToken: (token) => token === microsoft.token,
        deployments: [microsoft.gpt, microsoft.claude],
      }),
    }),
  };
}
