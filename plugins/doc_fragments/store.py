# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation that the modules about backups share."""

from __future__ import annotations

_LOCATION = r"""
options:
  NAME:
    type: dict
    suboptions:
      s3:
        description: Objects in an S3-compatible store. Mutually exclusive with C(file_system).
        type: dict
        suboptions:
          path:
            description: The bucket and the prefix, C(BUCKET/PREFIX).
            type: str
            required: true
          type:
            description: >-
              Dialect of the store, V(aws) for AWS S3 and stores that address buckets by host name,
              V(minio) for those that address them by path.
            type: str
            choices: [aws, minio]
            default: aws
          endpoint:
            description: URL of the store. Defaults to the one of AWS in the region.
            type: str
          region:
            description: Region of the bucket. Defaults to us-west-2.
            type: str
          access_key:
            description: ID of the access key.
            type: str
          secret_key:
            description: The access key.
            type: str
          session_token:
            description: >-
              Token of temporary credentials. The database cannot use it, so that no backup can be
              made with it.
            type: str
          certificates:
            description: PEM certificates of the authority to trust instead of the usual ones.
            type: str
      file_system:
        description: A folder. Mutually exclusive with C(s3).
        type: dict
        suboptions:
          path:
            description: Its absolute path on the controller.
            type: str
            required: true
          server_path:
            description: >-
              Its absolute path in the Pods of the compute nodes, which write a backup there.
              Defaults to C(path). An incremental backup requires that both are the same.
            type: str
"""


class ModuleDocFragment:
    """What all modules about backups need, and the options of those that copy files."""

    DOCUMENTATION = r"""
options: {}
requirements:
  - python >= 3.11
  - botocore >= 1.36 (for buckets), crc32c >= 2.7 (for folders), on the controller
notes:
  - It runs on the controller, in Ansible's own process, and reads and writes the bucket or folder
    from there. It needs neither Kubernetes nor an operator.
  - Keys and passwords are in files of a temporary folder while it runs, which only the user who
    plays the playbook can read.
  - Without keys, those that botocore finds are used, such as E(AWS_ACCESS_KEY_ID),
    E(AWS_PROFILE) or the role of the machine.
"""

    FILES = r"""
options:
  timeout:
    description: Seconds for all of it.
    type: int
    default: 86400
  parallelism:
    description: How many files are read or written at a time.
    type: int
    default: 8
"""

    TARGET: str = _LOCATION.replace("NAME", "target")
    SOURCE: str = _LOCATION.replace("NAME", "source")
    LOCATION: str = _LOCATION.replace("NAME", "location")
    STORAGE: str = _LOCATION.replace("NAME", "storage")
