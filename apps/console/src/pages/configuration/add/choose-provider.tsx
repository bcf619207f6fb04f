import {
  Alert,
  Badge,
  Button,
  Group,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  TextInput,
  UnstyledButton,
} from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { FoundServer, Provider } from '../../../api/types.ts';
import { PageFailed } from '../../../parts/page/page-failed.tsx';
import classes from './add.module.css';
import { providersQuery, serversQuery } from './providers-query.ts';

const GROUPS: Readonly<Record<Provider['group'], string>> = {
  company: 'Providers',
  server: 'Your own servers',
  cloud: 'Clouds',
  retrieval: 'Embeddings and rerank',
  media: 'Images, speech and transcription',
};

interface ChooseProviderProps {
  readonly onChosen: (provider: Provider, baseUrl?: string) => void;
}

/** Every kind of provider that there is, and the model servers that were found on the gateway's machine. */
export function ChooseProvider({ onChosen }: ChooseProviderProps) {
  const { data: providers, error, refetch } = useQuery(providersQuery);
  const [search, setSearch] = useState('');
  if (error) return <PageFailed error={error} reset={() => void refetch()} />;
  if (providers === undefined) return <Skeleton h={240} animate={false} />;
  const found = providers.filter(({ name, speaks }) =>
    [name, ...speaks].some((word) => word.includes(search.trim().toLowerCase())),
  );
  return (
    <Stack gap="md">
      <FoundServers providers={providers} onChosen={onChosen} />
      <TextInput
        aria-label="Search providers"
        placeholder="Search by name or protocol"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
      />
      {Object.entries(GROUPS).map(([group, title]) => {
        const some = found.filter((provider) => provider.group === group);
        if (some.length === 0) return null;
        return (
          <Stack key={group} gap={6} component="section" aria-label={title}>
            <Text size="sm" fw={600}>
              {title}
            </Text>
            <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="xs" verticalSpacing="xs">
              {some.map((provider) => (
                <UnstyledButton
                  key={provider.name}
                  className={classes.choice}
                  onClick={() => onChosen(provider)}
                >
                  <Text span size="sm" fw={600} display="block">
                    {provider.name}
                  </Text>
                  <Text span size="xs" c="dimmed" display="block">
                    {provider.speaks.join(', ')}
                  </Text>
                </UnstyledButton>
              ))}
            </SimpleGrid>
          </Stack>
        );
      })}
      {found.length === 0 && (
        <Text size="sm" c="dimmed">
          No matching providers. A server that speaks one of the protocols is an openai-compatible one.
        </Text>
      )}
    </Stack>
  );
}

interface FoundServersProps extends ChooseProviderProps {
  readonly providers: readonly Provider[];
}

function FoundServers({ providers, onChosen }: FoundServersProps) {
  const { data: servers, error, isFetching, refetch } = useQuery(serversQuery);
  const again = (
    <Button size="compact-xs" variant="default" loading={isFetching} onClick={() => void refetch()}>
      Look again
    </Button>
  );
  if (error)
    return (
      <Alert color="red" variant="light">
        <Text size="sm">{error.message}</Text>
      </Alert>
    );
  if (servers === undefined) return <Skeleton h={40} animate={false} />;
  if (servers.length === 0)
    return (
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          No model server answers on the usual ports of the gateway's machine.
        </Text>
        {again}
      </Group>
    );
  return (
    <Stack gap={6} component="section" aria-label="Found on the gateway's machine">
      <Group gap="xs">
        <Text size="sm" fw={600}>
          Found on the gateway's machine
        </Text>
        {again}
      </Group>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="xs" verticalSpacing="xs">
        {servers.map((server: FoundServer) => {
          const provider = providers.find(({ name }) => name === server.provider);
          if (provider === undefined) return null;
          return (
            <UnstyledButton
              key={server.baseUrl}
              className={classes.choice}
              onClick={() => onChosen(provider, server.baseUrl)}
            >
              <Group gap="xs">
                <Text span size="sm" fw={600}>
                  {server.provider}
                </Text>
                <Badge size="xs" variant="light" color="teal">
                  running
                </Badge>
              </Group>
              <Text span size="xs" c="dimmed" display="block" style={{ overflowWrap: 'anywhere' }}>
                {server.baseUrl}
              </Text>
            </UnstyledButton>
          );
        })}
      </SimpleGrid>
    </Stack>
  );
}
