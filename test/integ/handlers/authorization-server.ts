import { ServerState } from './server-state';
import { ThirdParty } from './third-party';
import { SERVER_ENV } from '../stacks/contract';

const thirdParty = new ThirdParty(new ServerState(process.env[SERVER_ENV.TABLE] ?? ''), process.env[SERVER_ENV.SECRET] ?? '');

export const handler = thirdParty.handle;
