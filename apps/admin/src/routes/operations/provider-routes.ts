import type { Environment } from '@gateway/contracts/environment';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { page } from '../../api/schemas/page.ts';
import { ShownProvider, shownProviders } from '../../configuration/providers.ts';
import { FoundServer, ProviderTrial, TriedProvider } from '../../setup/provider-trial.ts';
import type { TryProvider } from '../../setup/try-provider.ts';

const ProviderPage = page(ShownProvider);
const ServerPage = page(FoundServer);

/** What a channel can lead to, and whether it works before there is one. What it needs is loaded with the first trial. */
export const providerRoutes = ({ env }: { readonly env: Environment }): AdminRoute[] => {
  let opening: Promise<TryProvider> | undefined;
  const open = async (): Promise<TryProvider> =>
    (await import('../../setup/try-provider.ts')).createTryProvider(env);
  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/configuration/providers',
      summary: 'The providers that channels can lead to, and what such a channel has to say',
      query: NO_QUERY,
      body: NO_BODY,
      reply: ProviderPage,
      handle: async () => ({ data: shownProviders(), next: null }),
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/configuration/providers/try',
      summary:
        'Ask a provider for its models with a key, before it is a channel; the key is not stored, and nothing is applied',
      query: NO_QUERY,
      body: ProviderTrial,
      reply: TriedProvider,
      handle: async ({ body }) => {
        opening ??= open();
        return (await opening)(body);
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/configuration/model-servers',
      summary: "The model servers that answer on the usual ports of the admin service's machine",
      query: NO_QUERY,
      body: NO_BODY,
      reply: ServerPage,
      handle: async () => {
        const { findLocalServers } = await import('../../setup/model-servers.ts');
        return { data: [...(await findLocalServers())], next: null };
      },
    }),
  ];
};
