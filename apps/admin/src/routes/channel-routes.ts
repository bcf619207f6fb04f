import { GatewayError } from '@gateway/contracts/gateway-error';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../admin-route.ts';
import type { ReadConfiguration } from '../read-configuration.ts';
import { ChannelPage } from './schemas.ts';

/** The channels as they are configured, without their secrets. */
export const channelRoutes = ({
  readConfiguration,
}: {
  readConfiguration: ReadConfiguration;
}): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/channels',
    summary: 'The channels of the configuration',
    query: NO_QUERY,
    body: NO_BODY,
    reply: ChannelPage,
    handle: async () => {
      const configuration = await readConfiguration();
      if (configuration === undefined)
        throw new GatewayError(
          'service_unavailable',
          'The configuration file cannot be read or has mistakes; the services go on with the one before. Their logs name each mistake.',
        );
      const { channels, models } = configuration;
      const data = [...channels.values()].map((channel) => ({
        name: channel.name,
        provider: channel.provider,
        origin: channel.origin,
        speaks: [...channel.speaks],
        maxConcurrent: channel.maxConcurrent,
        onDisconnect: channel.onDisconnect,
        models: models
          .filter(({ routes }) => routes.some((route) => route.channel.name === channel.name))
          .map(({ pattern }) => pattern),
      }));
      return { data, next: null };
    },
  }),
];
