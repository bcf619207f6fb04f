export { freePort } from '@gateway/redis-server/free-port';
